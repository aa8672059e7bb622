"""DuckDB and Polars beside `sanitize`: quarter hours' means of the same file, on one thread.

They publish exact means; ours have noise and an account, a ledger on the disk, and can be killed
at any moment. Each is set up as who knows it well would: columns and their types are told, nothing
is guessed, order is not kept. What an interpreter takes to start is nobody's.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

APPS = Path(__file__).parent / "apps"
ENGINES = {"DuckDB": "duckdb", "Polars": "polars"}
ASKED = {"DuckDB": 0.5}
"""The share of its rate that is the goal."""
OURS = "meteragent, one average"

Took = tuple[float, float]
"""Seconds of the processor, and of the clock."""


def means(engine: str, source: Path, readings: int) -> Took:
    """All of it by this one."""
    app, target = APPS / f"{ENGINES[engine]}_means.py", source.with_name(f"{engine}.json")
    done = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, app, source, target], check=True, capture_output=True, text=True
    )
    processor, clock, read = json.loads(done.stdout)
    if read != readings:
        raise ValueError(f"{engine}: {read} readings instead of {readings}")
    return processor, clock


def beside(source: Path, readings: int, ours: Callable[[], Took], rounds: int) -> dict[str, float]:
    """Print a row for each; answer our rate as a share of theirs, by the processor."""
    found: dict[str, list[Took]] = {OURS: [], **{engine: [] for engine in ENGINES}}
    for _ in range(rounds):
        found[OURS].append(ours())
        for engine in ENGINES:
            found[engine].append(means(engine, source, readings))
    shares = {}
    for name, took in found.items():
        processor, clock = (readings / median(one[part] for one in took) / 1e6 for part in (0, 1))
        row = f"  {name:<26}{processor:>11.2f}{clock:>11.2f}"
        if name in ENGINES:
            pairs = zip(took, found[OURS], strict=True)
            shares[name] = median(theirs[0] / mine[0] for theirs, mine in pairs)
            row += f"{shares[name]:>11.2f}{ASKED.get(name, ''):>8}   {version(ENGINES[name])}"
        print(row, flush=True)
    return shares
