"""The loop as a library: no command line, no progress, no ledger on disk."""

from __future__ import annotations

import io
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING

from meteragent.config import from_document
from meteragent.files import source
from meteragent.files.job import Job
from meteragent.files.ledger import SqliteLedger
from meteragent.files.paths import Paths
from meteragent.files.sink import Stream
from meteragent.files.source import LINES, Source
from meteragent.formats.encoder import Encoder
from tests.files.given import BEGIN
from tests.given import KEY

if TYPE_CHECKING:
    import pytest

POLICY = {
    "name": "all",
    "window": "5m",
    "interval": "30s",
    "maximum": "3kW",
    "epsilon": "1",
    "budget": "24",
}


class Nowhere(io.BytesIO):
    """Takes everything, keeps nothing."""

    def write(self, text: object) -> int:
        return len(text)  # type: ignore[arg-type]


def job(path: Path, out: io.BytesIO, said: list[str]) -> Job:
    places = Paths(Source(str(path)), Stream(out), None, SqliteLedger())
    config = from_document({"policy": [dict(POLICY)]}, Path(), {})
    return Job(places, config, KEY, config.mapping, Encoder(), say=said.append)


def run(path: Path, said: list[str]) -> tuple[Job, bytes]:
    out = io.BytesIO()
    one = job(path, out, said)
    one.run()
    return one, out.getvalue()


def test_lines_that_hold_nothing_are_no_records(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    reading = b'{"meter_id":"m","ts":%d,"value":1}\n' % BEGIN
    path.write_bytes(reading + b"\n" * (2 * LINES) + reading.replace(b"}", b"", 1))
    one, _ = run(path, [])
    assert one.totals.readings == 1
    assert one.totals.rejects == {"not_json": 1}
    assert one.totals.first_lines == {"not_json": 2 * LINES + 2}


def test_an_empty_input_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.touch()
    said: list[str] = []
    assert run(path, said)[1] == b""
    assert said == []


def peak(path: Path, rows: int) -> int:
    """Bytes held at most while so many rows are worked on."""
    with path.open("wb") as file:
        file.write(b"meter_id,ts,value\n")
        for row in range(rows):
            file.write(b"m-%d,%d,5.5\n" % (row % 50, BEGIN + row // 50 * 30_000))
    one = job(path, Nowhere(), [])
    tracemalloc.start()
    try:
        one.run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_stays_flat_however_long_the_input_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "LINES", 2**11)
    monkeypatch.setattr(source, "SEGMENT", 2**17)
    short, long = (peak(tmp_path / "in.csv", rows) for rows in (20_000, 80_000))
    assert long < 1.15 * short
