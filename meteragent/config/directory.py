"""Which files there are, on the disk: what a power cut would otherwise take back."""

import os
from pathlib import Path


def settle(directory: Path) -> None:
    """Make the names in a directory last, new ones and those that are gone, not only contents."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
