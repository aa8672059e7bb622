"""How fast frames are protected, beside `meteragent sanitize` on the same readings.

    python -m simulations.frames
    python -m simulations.frames --meters 10000 --windows 12

Each way is a process of its own that reads a file, releases, keeps accounts in SQLite and writes
what is released. Its start is in its time, so that few readings say little. Of each the best of
three runs counts, by processor time, in turns, so that other work on the machine slows all of them.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from argparse import ArgumentParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

import meteragent as ma
from simulations.fleet.traffic import Fleet, Trouble, portions

if TYPE_CHECKING:
    from collections.abc import Iterator

BEGIN = 1_763_424_000_000
QUARTER = 15 * 60_000
RUNS = 3
SETTINGS = {
    "window": "15m",
    "interval": "10s",
    "epsilon": "1",
    "maximum": "24kW",
    "budget": "1000",
    "queries": ["avg"],
}
PROTECT = """
import json, sys, warnings
import meteragent as ma
warnings.simplefilter("ignore", ma.ReadingsLost)  # the last window is open still, in all ways
plan = ma.policy(**json.loads(sys.argv[1]))
how = {"key": "noise.key", "ledger": "spend.db"}
"""
FRAME = """
import polars as pl
ma.protect(pl.read_parquet("in.parquet"), plan, **how).write_parquet("out")
"""
BATCHES = """
ma.protect_parquet("in.parquet", "out", plan, **how)
"""


class Way(NamedTuple):
    """One way to do it."""

    name: str
    command: list[str]


class Cost(NamedTuple):
    """Of a whole process."""

    processor: float
    wall: float


def ways() -> Iterator[Way]:
    """All of them; the first is what others are compared with."""
    options = [
        option
        for name, value in SETTINGS.items()
        for option in ("--query" if name == "queries" else f"--{name}", _text(value))
    ]
    common = [*options, "--key-file", "noise.key", "--ledger", "spend.db", "-o", "out"]
    sanitize = [sys.executable, "-m", "meteragent", "sanitize"]
    yield Way("sanitize, JSON lines", [*sanitize, "in.jsonl", *common])
    yield Way("sanitize, CSV", [*sanitize, "in.csv", "--time-format", "unix_ms", *common])
    for name, rest in (("protect, polars", FRAME), ("protect_parquet", BATCHES)):
        yield Way(name, [sys.executable, "-c", PROTECT + rest, json.dumps(SETTINGS)])


def _text(value: object) -> str:
    return value if isinstance(value, str) else SETTINGS["queries"][0]


def prepare(directory: Path, meters: int, windows: int) -> int:
    """Write the same readings as JSON lines, CSV and Parquet; answer how many they are."""
    begin = BEGIN // QUARTER * QUARTER
    fleet = Fleet(meters, windows * 90, begin, trouble=Trouble(bad=0, late=0))
    rows = []
    with (directory / "in.jsonl").open("wb") as lines:
        for portion in portions(fleet, 0):
            for _, record, _ in portion.records(fleet):
                lines.write(record + b"\n")
                rows.append(json.loads(record))
    table = pa.table({name: [row[name] for row in rows] for name in ("meter_id", "ts", "value")})
    pyarrow.csv.write_csv(table, directory / "in.csv")
    times = pa.array(table["ts"].to_numpy(), pa.timestamp("ms", "UTC"))
    pq.write_table(table.set_column(1, "ts", times), directory / "in.parquet")
    ma.create_key(directory / "noise.key")
    return len(rows)


def cost(way: Way, directory: Path) -> Cost:
    """What one run takes, from nothing."""
    for left in (*directory.glob("spend.db*"), *directory.glob("out*")):
        left.unlink()
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(way.command, cwd=directory, check=True, capture_output=True)  # noqa: S603 - ours
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(processor, time.perf_counter() - began)


def main() -> None:
    """Measure, and print a table."""
    parser = ArgumentParser(prog="python -m simulations.frames", description=__doc__)
    parser.add_argument("--meters", type=int, default=1000)
    parser.add_argument("--windows", type=int, default=24, help="of a quarter of an hour")
    arguments = parser.parse_args()
    with TemporaryDirectory() as name:
        directory = Path(name)
        readings = prepare(directory, arguments.meters, arguments.windows)
        print(f"{readings:,} readings of {arguments.meters:,} meters")
        best: dict[str, Cost] = {}
        for _ in range(RUNS):
            for way in ways():
                found = cost(way, directory)
                best[way.name] = min(found, best.get(way.name, found))
    [first, *_] = best.values()
    for name, its in best.items():
        speed, ratio = readings / its.processor, first.processor / its.processor
        print(
            f"{name:<22}{speed / 1e6:>7.2f} M readings per second of processor, "
            f"{its.wall:>6.1f} s; {ratio:.2f} of sanitize's speed"
        )


if __name__ == "__main__":
    main()
