"""Files in many forms, through `sanitize`: what it writes, and what it says was spent."""

from __future__ import annotations

import gzip
import random
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

from meteragent.cli import main
from tests.files.given import CONFIGURATION, SETTINGS, lively, write_key

EXAMPLE = Path(__file__).parents[2] / "deploy" / "example.csv"
SHORT = (
    *("--window", "5m", "--interval", "30s", "--epsilon", "1", "--maximum", "24kW"),
    *("--budget", "100", "--min-coverage", "0.1", "--key-file", "noise.key"),
)
ONE = (*SHORT, "--meter", "home-1")


class Export(NamedTuple):
    """A file, and how it is to be read."""

    text: bytes
    arguments: tuple[str, ...]


def _moments(count: int) -> list[tuple[datetime, float]]:
    """Times of a meter that is sometimes late, silent or twice there, and watts."""
    draw = random.Random("exports")
    now, found = 1_382_832_000, []  # clocks go back in that night in Europe
    for _ in range(count):
        now += draw.choice((10, 20, 30, 30, 30, 60)) + (4000 if draw.random() < 0.01 else 0)
        late = draw.choice((0, 0, 0, 0, 30, 900))
        found.append((datetime.fromtimestamp(now - late, UTC), draw.randrange(30_000) / 8))
    return found


def _table(form: str, separator: str = ",", header: str = "time,power", end: str = "\n") -> bytes:
    rows = [f"{at.strftime(form)}{separator}{watts}" for at, watts in _moments(1200)]
    return end.join([*([header] if header else []), *rows, ""]).encode()


def _unix(scale: int) -> bytes:
    rows = [
        f"m-{n % 3},{int(at.timestamp()) * scale},{w}" for n, (at, w) in enumerate(_moments(1200))
    ]
    return "\n".join(["meter_id,ts,value", *rows, "m-1,,7", "m-1", ""]).encode()


def _one_after_the_other() -> bytes:
    header, *rows = _unix(1).splitlines(keepends=True)
    rows = sorted(rows[:-2], key=_meter)
    return header + b"".join(rows)


def _meter(row: bytes) -> bytes:
    return row.partition(b",")[0]


def _local(name: str) -> bytes:
    zone = ZoneInfo(name)
    rows = [f"{at.astimezone(zone):%d.%m.%Y;%H:%M:%S};{watts}" for at, watts in _moments(1200)]
    return "\r\n".join(["Tag;Zeit;Leistung", *rows, ""]).encode()


_NAMED = ("--time-column", "time", "--value-column", "power")
EXPORTS = {
    "the example of the README": Export(
        EXAMPLE.read_bytes(),
        (
            *("--preset", "tv-content", "--interval", "1m", "--window", "15m", "--radius", "100W"),
            *("--step", "10W", "--budget", "96", "--meter", "home-1", *_NAMED),
            *("--key-file", "noise.key"),
        ),
    ),
    "iso": Export(_table("%Y-%m-%d %H:%M:%S"), (*ONE, *_NAMED)),
    "iso with zones": Export(_table("%Y-%m-%dT%H:%M:%S.250+02:00"), (*ONE, *_NAMED)),
    "iso, in quotes": Export(_table('"%Y-%m-%dT%H:%M:%SZ"'), (*ONE, *_NAMED)),
    "seconds": Export(_unix(1), (*SHORT, "--time-format", "unix")),
    "milliseconds": Export(_unix(1000), (*SHORT, "--time-format", "unix_ms")),
    "local dates": Export(
        _local("Europe/Berlin"),
        (
            *(*ONE, "--time-column", "Tag", "--time-column", "Zeit", "--timezone"),
            *("Europe/Berlin", "--time-format", "%d.%m.%Y %H:%M:%S", "--value-column", "Leistung"),
        ),
    ),
    "American dates in kW": Export(
        _table("%m/%d/%Y %I:%M:%S %p", "\t", ""),
        (
            *(*ONE, "--no-header", "--time-column", "1", "--value-column", "2", "--unit", "kW"),
            *("--time-format", "%m/%d/%Y %I:%M:%S %p", "--maximum", "24MW", "--step", "1kW"),
        ),
    ),
    "gzip": Export(gzip.compress(_table("%Y-%m-%d %H:%M:%S"), mtime=0), (*ONE, *_NAMED)),
    "by meter": Export(
        _one_after_the_other(),
        (*SHORT, "--time-format", "unix", "--by-meter"),
    ),
    "JSON lines": Export(lively(3000, seed=5), ("-c", "agent.toml")),
    "JSON lines to CSV": Export(lively(1000, seed=6), (*SETTINGS, "--format", "csv")),
    "JSON lines, every reading to CSV": Export(
        lively(500, seed=7), (*SHORT, "--query", "reading", "--query", "max", "--format", "csv")
    ),
    "JSON lines, left open": Export(lively(1000, seed=8), (*SETTINGS, "--at-end", "keep")),
}


def sanitized(export: Export) -> dict[str, list[object]]:
    """What comes of it in the present directory."""
    write_key(Path())
    Path("agent.toml").write_text(CONFIGURATION)
    Path("in").write_bytes(export.text)
    files = ("in", "-o", "out", "--rejects", "rejects", "--ledger", "spend.db")
    assert main(["sanitize", *files, *export.arguments]) == 0
    with closing(sqlite3.connect("spend.db")) as ledger:
        accounts = ledger.execute("SELECT meter, record FROM account ORDER BY meter").fetchall()
        policies = ledger.execute("SELECT id, document FROM policy ORDER BY id").fetchall()
    return {
        "releases": [Path("out").read_bytes()],
        "rejects": [Path("rejects").read_bytes()],
        "accounts": accounts,
        "policies": policies,
    }
