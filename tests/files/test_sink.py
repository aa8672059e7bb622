"""Outputs: nothing is overwritten, nothing is lost, and both forms say the same."""

from __future__ import annotations

import csv
import io
import json
import os
import resource
from typing import TYPE_CHECKING

import pytest

from meteragent.config.policy import PolicySettings
from meteragent.errors import FileRefused
from meteragent.files.sink import File, Stream, Writer

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
    with pytest.raises(FileRefused, match="is no regular file"):
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


def policy(queries: list[object]) -> PolicySettings:
    return PolicySettings.model_validate(
        {
            "name": "x",
            "window": "1m",
            "interval": "30s",
            "maximum": "1kW",
            "epsilon": "1",
            "budget": "9",
            "queries": queries,
        }
    )


DOCUMENT = {
    "schema": "meteragent.release/1",
    "meter_id": "m,1",
    "window_start": 0,
    "window_end": 60_000,
    "status": "released",
    "values": {"avg": 10.0, "reading": [1.0, None]},
    "unbiased": {"avg": -3.25, "reading": [0.5, None]},
    "unit": "W",
    "policy": "ab",
    "epsilon": {"avg": "0.01", "reading": "0.02"},
    "readings": 1,
    "slots": 2,
}


def test_a_table_says_what_the_documents_say() -> None:
    writer = Writer("csv", [policy(["avg", "reading"]).policy, policy(["avg", "max"]).policy])
    suppressed = {
        **DOCUMENT,
        "status": "suppressed",
        "withheld": "budget",
        "values": {},
        "unbiased": {},
        "epsilon": {},
    }
    documents = [json.dumps(document).encode() for document in (DOCUMENT, suppressed)]
    text = (writer.header() + writer.lines(documents)).decode()
    first, second = csv.DictReader(io.StringIO(text))
    assert first == {
        "meter_id": "m,1",
        "window_start": "0",
        "window_end": "60000",
        "status": "released",
        "withheld": "",
        "unit": "W",
        "policy": "ab",
        "readings": "1",
        "slots": "2",
        "avg": "10.0",
        "avg_unbiased": "-3.25",
        "avg_epsilon": "0.01",
        "reading": "[1.0,null]",
        "reading_unbiased": "[0.5,null]",
        "reading_epsilon": "0.02",
        "max": "",
        "max_unbiased": "",
        "max_epsilon": "",
    }
    assert second["withheld"] == "budget"
    assert {second[name] for name in ("avg", "reading_unbiased", "max_epsilon")} == {""}


def test_json_lines_are_the_documents() -> None:
    writer = Writer("json", [policy(["avg"]).policy])
    assert writer.header() == b""
    assert writer.lines([b"{}", b"[]"]) == b"{}\n[]\n"
