"""What is asked of a file system: handed in, so that tests can let the power fail.

What was written is there for good once `sync` has returned; that a file exists, or is gone, once
`sync_directory` has. Before that a loss of power may leave all, nothing, or any part of it.
"""

import os
from pathlib import Path
from typing import Protocol

from meteragent.config.directory import settle


class GrowingFile(Protocol):
    """A file that grows at its end."""

    def append(self, data: bytes) -> None:
        """Write all of it behind what is there."""

    def cut(self, size: int) -> None:
        """Leave only its beginning."""

    def sync(self) -> None:
        """Have it on the disk."""

    def close(self) -> None:
        """Let go of it."""


class Disk(Protocol):
    """The files of one directory."""

    def names(self) -> list[str]:
        """Of all files."""

    def read(self, name: str) -> bytes:
        """All that a file holds."""

    def open(self, name: str) -> GrowingFile:
        """A file, made if it is not there."""

    def remove(self, name: str) -> None:
        """Have it gone."""

    def sync_directory(self) -> None:
        """Have it on the disk which files there are."""


class _RealFile:
    def __init__(self, path: Path) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._descriptor = os.open(path, flags, 0o600)
        self._path = path

    def append(self, data: bytes) -> None:
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError as error:
            error.filename = str(self._path)
            raise

    def cut(self, size: int) -> None:
        os.ftruncate(self._descriptor, size)

    def sync(self) -> None:
        os.fdatasync(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)


class RealDisk:
    """A directory, made for its owner alone if it is not there."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        directory.mkdir(mode=0o700, exist_ok=True)
        settle(directory.resolve().parent)

    def names(self) -> list[str]:
        """Of all files."""
        return [entry.name for entry in os.scandir(self._directory) if entry.is_file()]

    def read(self, name: str) -> bytes:
        """All that a file holds."""
        return (self._directory / name).read_bytes()

    def open(self, name: str) -> GrowingFile:
        """A file, made if it is not there."""
        return _RealFile(self._directory / name)

    def remove(self, name: str) -> None:
        """Have it gone."""
        (self._directory / name).unlink()

    def sync_directory(self) -> None:
        """Have it on the disk which files there are."""
        settle(self._directory)
