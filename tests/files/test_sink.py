"""Outputs: nothing is overwritten, nothing is lost."""

from __future__ import annotations

import io
import os
import resource
from typing import TYPE_CHECKING

import pytest

from meteragent.errors import FileRefused
from meteragent.files.sink import File, Stream

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.jsonl"


def test_a_new_file_grows(path: Path) -> None:
    file = File(path, None)
    file.cut()
    file.write(b"one\n")
    file.write(b"two\n")
    file.sync()
    assert (file.name, file.length) == (str(path), 8)
    file.close()
    assert path.read_bytes() == b"one\ntwo\n"


def test_what_was_not_committed_is_cut_off(path: Path) -> None:
    path.write_bytes(b"one\ntwo\nthr")
    file = File(path, 4)
    assert path.read_bytes() == b"one\ntwo\nthr"
    file.cut()
    file.write(b"2\n")
    file.close()
    assert path.read_bytes() == b"one\n2\n"


def test_what_this_ledger_did_not_write_is_not_overwritten(path: Path) -> None:
    path.write_bytes(b"releases of another ledger")
    with pytest.raises(FileRefused, match="already holds something"):
        File(path, None)
    assert path.read_bytes() == b"releases of another ledger"


def test_an_empty_file_is_as_good_as_none(path: Path) -> None:
    path.touch()
    File(path, None).close()


def test_lost_releases_are_told(path: Path) -> None:
    path.write_bytes(b"one")
    with pytest.raises(FileRefused, match="has lost releases: 3 bytes, and 8 were written"):
        File(path, 8)


def test_only_a_file_can_be_cut(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(FileRefused, match="is not a regular file"):
        File(pipe, None)


@pytest.fixture
def small_disk() -> Iterator[int]:
    """A limit that holds for every file of this process."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    yield 10_000
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_names_the_file(path: Path, small_disk: int) -> None:
    file = File(path, None)
    with pytest.raises(OSError, match="File too large") as failed:
        file.write(b"x" * (small_disk + 1))
    file.close()
    assert failed.value.filename == str(path)


def test_a_stream_is_written_to_and_never_closed() -> None:
    written = io.BytesIO()
    stream = Stream(written)
    stream.write(b"one\n")
    stream.sync()
    stream.close()
    assert (written.getvalue(), stream.length, stream.name) == (b"one\n", 4, "")
