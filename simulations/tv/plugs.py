"""Recordings of real plugs, as the tracebase data set holds them: `dd/mm/yyyy HH:MM:SS;P1;P8`.

Watts over one second and over eight, about once a second, with gaps; times repeat, and clocks go
back. Times have no zone and are read as UTC: an attacker here knows when a stretch was on anyway.
"""

import gzip
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from simulations.kit.traces import Trace, gridded

Watts = NDArray[np.float64]

INTERVAL = 2_000
HELD = 15_000
"""Milliseconds for which a plug's last reading stands: they report every few seconds."""
ON = 20.0
THROUGHOUT = 0.95
"""A set that draws more than `ON` watts in this share of its readings was on throughout."""

_PLUG = re.compile(r"dev(?:ice)?_([0-9A-F]{6})")
_ONE_SET = {"B83416": "B8121D"}
"""Plugs that seem to have measured one and the same set."""


@dataclass(frozen=True, slots=True)
class Recording:
    """About a day of one television set."""

    set: str
    trace: Trace


@dataclass(frozen=True, slots=True)
class Stretches:
    """Stretches of equal length in which a set was on: `watts[stretch, slot]`."""

    sets: NDArray[np.str_]
    keys: NDArray[np.str_]
    """Recording and time: equal for one stretch of two columns."""
    watts: Watts


def recordings(folder: Path, column: int = 1) -> list[Recording]:
    """Every recording of a folder, by file name; column 1 is of one second, 2 of eight."""
    files = sorted(p for p in folder.iterdir() if p.name.endswith((".csv", ".csv.gz")))
    if not files:
        raise SystemExit(f"{folder} holds no *.csv or *.csv.gz")
    return [Recording(_set(file.name), read(file, column)) for file in files]


def read(file: Path, column: int = 1) -> Trace:
    """One recording on a regular grid, readings held for a while."""
    text = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    lines = text.decode("ascii").split("\n")
    minutes: dict[str, int] = {}
    times, watts = [], []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            minute, second, power = line[:16], int(line[17:19]), float(line.split(";")[column])
            if minute not in minutes:
                minutes[minute] = _minute(minute)
        except (ValueError, IndexError):
            raise SystemExit(f"{file}, line {number}: not dd/mm/yyyy HH:MM:SS;watts") from None
        times.append(minutes[minute] + 1000 * second)
        watts.append(power)
    trace = gridded(file.name, np.array(times, dtype=np.int64), np.array(watts), INTERVAL)
    return Trace(trace.name, trace.begin, trace.interval, held(trace.watts, HELD // INTERVAL))


def held(watts: Watts, slots: int) -> Watts:
    """Every gap of at most so many slots, filled with what was last measured."""
    place = np.arange(len(watts))
    last = np.maximum.accumulate(np.where(np.isfinite(watts), place, -1))
    near = (last >= 0) & (place - last <= slots)
    return np.where(near, watts[np.maximum(last, 0)], np.nan)


def stretches(recorded: list[Recording], seconds: int, *, moving: float = 0.0) -> Stretches:
    """Stretches in which a set was on throughout, and moved by this standard deviation in watts.

    One begins in the middle of the one before, so that an attacker must tell neighbours apart.
    The little that is missing becomes the stretch's mean: gaps must not be what it is known by.
    """
    sets: list[str] = []
    keys: list[str] = []
    found: list[Watts] = []
    length = seconds * 1000 // INTERVAL
    for recording in recorded:
        trace = recording.trace
        skipped = -(trace.begin // INTERVAL) % (length // 2)
        rows = sliding_window_view(trace.watts[skipped:], length)[:: length // 2]
        throughout = np.flatnonzero((rows > ON).mean(axis=1) >= THROUGHOUT)
        rows = rows[throughout]
        filled = np.where(np.isfinite(rows), rows, np.nanmean(rows, axis=1, keepdims=True))
        moved = filled.std(axis=1) > moving
        found.append(filled[moved])
        sets += [recording.set] * len(found[-1])
        keys += [f"{trace.name} {place}" for place in throughout[moved]]
    return Stretches(np.array(sets), np.array(keys), np.concatenate(found))


def _set(name: str) -> str:
    plug = _PLUG.search(name)
    known = plug.group(1) if plug else name
    return _ONE_SET.get(known, known)


def _minute(text: str) -> int:
    moment = datetime.strptime(text, "%d/%m/%Y %H:%M").replace(tzinfo=UTC)
    return int(moment.timestamp()) * 1000
