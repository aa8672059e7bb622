"""Traces of real homes, as they are published: whole houses, plugs, a house with submeters.

Each reader knows its format by a file's first lines; a folder is searched for all of them.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from simulations.kit.traces import Trace, Watts, gridded

LONGEST_FILE = 200_000_000
"""Bytes: a larger file is no trace of a home."""
SUBMETERS = ("Sub_metering_1", "Sub_metering_2", "Sub_metering_3")


@dataclass(frozen=True, slots=True)
class Recorded:
    """A trace, and the parts of it that had meters of their own."""

    total: Trace
    parts: tuple[Trace, ...] = ()


def recorded(folder: Path, interval: int) -> Iterator[Recorded]:
    """Every trace in a folder and below it, by the name of its file.

    Postcondition: files in no known format are passed over. Raises `FileNotFoundError` if
    there is no such folder.
    """
    if not folder.is_dir():
        raise FileNotFoundError(folder)
    for file in sorted(folder.rglob("*")):
        if file.suffix in {".csv", ".dat", ".tsv", ".txt"} and file.stat().st_size < LONGEST_FILE:
            yield from _read(file, interval)


def _read(file: Path, interval: int) -> Iterator[Recorded]:
    with file.open(encoding="utf-8", errors="replace") as lines:
        first = lines.readline().strip()
    if first.startswith("Date;Time;Global_active_power"):
        yield _submetered(file, interval)
    elif _numbers(first) == 2:
        yield Recorded(_timed(file, interval))
    elif _numbers(first) == 1 and file.suffix == ".csv":
        yield Recorded(_by_second(file, interval))


def _numbers(line: str) -> int:
    """How many numbers a line consists of; 0 if of anything else."""
    words = line.split()
    try:
        return len([float(word) for word in words])
    except ValueError:
        return 0


def _timed(file: Path, interval: int) -> Trace:
    """`unix seconds, watts` on each line."""
    columns: Watts = np.loadtxt(file, ndmin=2)
    times = (columns[:, 0] * 1000).astype(np.int64)
    return gridded(file.stem, times, columns[:, 1], interval)


def _by_second(file: Path, interval: int) -> Trace:
    """Watts on each line, one a second, from the begin of time on."""
    watts: Watts = np.loadtxt(file, ndmin=1)
    return gridded(file.stem, np.arange(len(watts)) * 1000, watts, interval)


def _submetered(file: Path, interval: int) -> Recorded:
    """The minute's mean in kW and three submeters in Wh; `?` where nothing was measured."""
    with file.open(encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines, delimiter=";") if _measured(row)]
    times = np.array([_time(row) for row in rows])
    total = np.array([float(row["Global_active_power"]) for row in rows]) * 1000
    interval = max(interval, 60_000)
    parts = tuple(
        gridded(name, times, np.array([float(row[name]) for row in rows]) * 60, interval)
        for name in SUBMETERS
    )
    return Recorded(gridded(file.stem, times, total, interval), parts)


def _measured(row: dict[str, str]) -> bool:
    return all(row[name] and row[name] != "?" for name in ("Global_active_power", *SUBMETERS))


def _time(row: dict[str, str]) -> int:
    """Local time, read as if it were universal: only the time of day matters."""
    text = f"{row['Date']} {row['Time']}"
    return int(datetime.strptime(text, "%d/%m/%Y %H:%M:%S").replace(tzinfo=UTC).timestamp()) * 1000
