from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.deploy.image import made

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session", autouse=True)
def _tools() -> None:
    """Helm, schemas and what makes namespaces, fetched where they are missing."""
    done = subprocess.run(  # noqa: S603 - our own command
        [Path(__file__).parent / "install"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def image(_tools: None) -> Iterator[Path]:
    """The root that the Dockerfile's steps make on top of this machine's own Debian."""
    with made() as root:
        yield root
