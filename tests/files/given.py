"""What the tests of the embedded way start from."""

from __future__ import annotations

import json
import random
import sqlite3
from typing import TYPE_CHECKING, Any

from meteragent.cli import main
from meteragent.files import source
from tests import given

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

KEY = given.KEY.to_hex()
SHORT = 60
"""Bytes of a line, about."""
BEGIN = 1_763_424_000_000  # a whole day
MINUTE = 60_000
SETTINGS = (
    *("--window", "5m", "--interval", "30s", "--query", "avg", "--query", "p95"),
    *("--epsilon", "1", "--radius", "100W", "--minimum", "0", "--maximum", "24kW"),
    *("--step", "10W", "--budget", "24", "--horizon", "24h", "--key-file", "noise.key"),
)
CONFIGURATION = """
[agent]
key_file = "noise.key"
commit_interval = "20ms"
[[policy]]
name = "homes"
match = "home-"
window = "5m"
interval = "30s"
maximum = "24kW"
queries = ["avg", "p95"]
epsilon = "1"
budget = "24"
[[policy]]
name = "plugs"
match = "plug-"
window = "10m"
hop = "5m"
interval = "30s"
maximum = "3kW"
epsilon = "1"
budget = "200"
grace = "1m"
min_coverage = "0.1"
"""

SHARED = """
[agent]
key_file = "noise.key"
commit_interval = "20ms"
[budget]
amount = "14"
[[policy]]
name = "grid"
window = "5m"
interval = "30s"
maximum = "24kW"
epsilon = "0.5"
share = "6"
[[policy]]
name = "research"
output = "{research}"
window = "10m"
interval = "30s"
maximum = "24kW"
queries = ["p95"]
epsilon = "2"
share = "8"
min_coverage = "0.3"
"""
"""Two policies for each meter, and one account."""


def write_key(directory: Path) -> None:
    key = directory / "noise.key"
    key.write_text(KEY)
    key.chmod(0o600)


def lively(lines: int, seed: int = 0) -> bytes:
    """Homes and plugs, in turns, with late, double, early and faulty lines among them."""
    draw = random.Random(seed)
    written = []
    for number in range(lines):
        meter = draw.choice(["home-a", "home-b", "home-ü", "plug-1", "plug-2", "barn-1"])
        time = BEGIN + number * 20_000 + draw.choice([0, 0, 0, -90_000, -900_000, 30_000])
        value = draw.choice([draw.randrange(30_000) / 10, draw.randrange(3000)])
        reading: dict[str, Any] = {"meter_id": meter, "ts": time, "value": value}
        if draw.random() < 0.1:
            values = [draw.choice([None, 5, 70.5]) for _ in range(draw.randrange(1, 30))]
            reading = {"meter_id": meter, "start": time, "interval_ms": 30_000, "values": values}
        line = json.dumps(reading)
        written.append(line if draw.random() > 0.02 else draw.choice(["{", "", '{"ts": 1}']))
    return "".join(line + "\n" for line in written).encode()


def contents(ledger: Path) -> list[str]:
    """Everything that a ledger says."""
    with sqlite3.connect(ledger) as database:
        said = list(database.iterdump())
    database.close()
    return said


def in_small_blocks(change: Callable[[object, str, int], None], lines: int) -> None:
    """Let short inputs have many blocks, of which the first is enough to know them by."""
    change(source, "LINES", lines)
    change(source, "SEGMENT", SHORT * lines)
    change(source, "HEAD", SHORT * lines)


def sanitize_in_small_blocks(arguments: list[str], lines: int) -> None:
    """A process of its own; ends as the command does."""
    in_small_blocks(setattr, lines)
    raise SystemExit(main(["sanitize", *arguments]))
