"""Where releases go: a file that grows, or standard output.

What a file holds beyond the length in the ledger was never paid for in the books of this run's
ledger, and is cut off before anything is added: it will be computed again, byte for byte.
"""

import os
import stat
from pathlib import Path
from typing import BinaryIO, Protocol

from meteragent.config.directory import settle
from meteragent.errors import FileRefused


class Sink(Protocol):
    """Takes lines in; they are there for good once `sync` returns."""

    name: str
    length: int

    def write(self, text: bytes) -> None:
        """Add to what is there."""

    def sync(self) -> None:
        """Put it all on the disk, as far as there is one."""

    def close(self) -> None:
        """Let go of it."""


class Stream:
    """Standard output, or another pipe: what was written to it cannot be taken back."""

    def __init__(self, stream: BinaryIO) -> None:
        self.name = ""
        self.length = 0
        self._stream = stream

    def write(self, text: bytes) -> None:
        """Add to what is there."""
        self._stream.write(text)
        self.length += len(text)

    def sync(self) -> None:
        """Hand it to whoever reads."""
        self._stream.flush()

    def close(self) -> None:
        """Nothing: it is not ours."""


class File:
    """A file; `length` bytes of it are released, what follows is cut off."""

    def __init__(self, path: Path, length: int | None) -> None:
        """Open it, or make it. `length`: as the ledger has it, None if it does not know it.

        FileRefused: it holds what would be lost, or has lost what the ledger knows of.
        """
        self.name = str(path.resolve())
        self.path = path
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            self.length = self._accept(os.fstat(self._descriptor), length)
        except BaseException:
            self.close()
            raise

    def _accept(self, status: os.stat_result, length: int | None) -> int:
        if not stat.S_ISREG(status.st_mode):
            raise FileRefused(str(self.path), "is not a regular file", "leave out -o and pipe")
        if length is None and status.st_size:
            raise FileRefused(
                str(self.path),
                "already holds something, and not from this ledger",
                "name a new file, or remove it",
            )
        if status.st_size < (length or 0):
            raise FileRefused(
                str(self.path),
                f"has lost releases: {status.st_size} bytes, and {length} were written",
                "put them back, or name a new file for those to come",
            )
        return length or 0

    def cut(self) -> None:
        """Take off what was written after the last commit of a run that was killed."""
        os.ftruncate(self._descriptor, self.length)
        settle(self.path.resolve().parent)

    def write(self, text: bytes) -> None:
        """Add to what is there."""
        try:
            while text:
                written = os.pwrite(self._descriptor, text, self.length)
                self.length += written
                text = text[written:]
        except OSError as error:
            error.filename = str(self.path)
            raise

    def sync(self) -> None:
        """Put it on the disk."""
        os.fdatasync(self._descriptor)

    def close(self) -> None:
        """Let go of it."""
        os.close(self._descriptor)
