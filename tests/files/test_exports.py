"""Real exports, as they are: the windows and counts that a few plain lines find in them.

Where the recordings are not beside the repository, look-alikes of the same formats are made:
every quirk that the originals have is in them, so that the same tests run everywhere.
"""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest

from meteragent.cli import main
from meteragent.commands.exit_codes import Exit
from tests.files.given import write_key

if TYPE_CHECKING:
    from collections.abc import Callable

DATA = Path(__file__).parents[3] / "shared" / "data"
WINDOW, GRACE = 900_000, 30_000
BERLIN = ZoneInfo("Europe/Berlin")

Readings = list[tuple[int, float]]


# How each format is read, told twice: to us in a few plain lines, to the program as arguments.


def lines(path: Path) -> list[str]:
    content = path.read_bytes()
    return (gzip.decompress(content) if path.suffix == ".gz" else content).decode().splitlines()


def tracebase(path: Path) -> Readings:
    rows = (line.split(";") for line in lines(path))
    local = ((datetime.strptime(day, "%d/%m/%Y %H:%M:%S"), float(p1)) for day, p1, _ in rows)  # noqa: DTZ007
    return [(int(at.replace(tzinfo=BERLIN).timestamp() * 1000), p1) for at, p1 in local]


def kelly(path: Path) -> Readings:
    return [(int(at) * 1000, float(watts)) for at, watts in (line.split() for line in lines(path))]


def uci(path: Path) -> Readings:
    rows = (line.split(";") for line in lines(path)[1:])
    when = ((datetime.strptime(f"{d} {t} Z", "%d/%m/%Y %H:%M:%S %z"), kw) for d, t, kw, *_ in rows)
    return [(int(at.timestamp() * 1000), float(kw) * 1000) for at, kw in when]


ARGUMENTS: dict[Callable[[Path], Readings], tuple[str, ...]] = {
    tracebase: (
        *("--no-header", "--time-column", "1", "--value-column", "2", "--interval", "10s"),
        *("--time-format", "%d/%m/%Y %H:%M:%S", "--timezone", "Europe/Berlin"),
    ),
    kelly: (
        *("--no-header", "--time-column", "1", "--value-column", "2", "--interval", "10s"),
        *("--time-format", "unix"),
    ),
    uci: (
        *("--time-column", "Date", "--time-column", "Time", "--time-format", "%d/%m/%Y %H:%M:%S"),
        *("--value-column", "Global_active_power", "--unit", "kW", "--interval", "1m"),
    ),
}


# Look-alikes.


def like_tracebase(draw: random.Random) -> bytes:
    at, rows = datetime(2012, 1, 3, tzinfo=UTC), []
    for number in range(20_000):
        at += timedelta(seconds=draw.choice([0, 1, 1, 2, 4]) - (40 if number == 9000 else 0))
        at += timedelta(hours=3 if number == 5000 else 0)
        rows.append(f"{at:%d/%m/%Y %H:%M:%S};{draw.choice([0, 68, 70])};{draw.choice([0, 69])}\n")
    return gzip.compress("".join(rows).encode())


def like_kelly(separator: str) -> Callable[[random.Random], bytes]:
    def written(draw: random.Random) -> bytes:
        at, rows = 1_365_794_125, []
        for number in range(20_000):
            at += draw.choice([6, 6, 7]) + (3600 if number == 7000 else 0)
            rows.append(f"{at}{separator}{draw.randrange(150, 5000)}\n")
        return "".join(rows).encode()

    return written


def like_uci(draw: random.Random) -> bytes:
    at, rows = (
        datetime(2006, 12, 16, 17, 24, tzinfo=UTC),
        [b"Date;Time;Global_active_power;Voltage"],
    )
    for number in range(5000):
        at += timedelta(minutes=draw.choice([1, 1, 1, 1, 2]))
        kilowatts = draw.randrange(200, 9000) / 1000
        blank = " " if number == 7 else ""
        rows.append(f"{at:%d/%m/%Y;%H:%M:%S};{kilowatts:.3f};{234.84:.3f}{blank}".encode())
    return b"\r\n".join([*rows, b""])


TRACEBASE = tracebase, like_tracebase
FILES: dict[str, tuple[Callable[[Path], Readings], Callable[[random.Random], bytes]]] = {
    "tracebase_tv/complete__TV-CRT__dev_98ABAA_2012.01.03_CRT-TV.csv.gz": (
        tracebase,
        like_tracebase,
    ),
    "tracebase_tv/complete__TV-LCD__dev_D35F73_2012.06.17.csv.gz": TRACEBASE,
    "tracebase_tv/incomplete__TV-LCD__dev_D33097_2011.11.27.csv.gz": TRACEBASE,
    "kelly_house/current_cost_earlyJuly.tsv": (kelly, like_kelly("\t")),
    "kelly_house/ukdale_like_house1_2013-04_aggregate_channel_1.dat": (kelly, like_kelly(" ")),
    "uci_household/household_power_consumption_first.txt": (uci, like_uci),
}


def expected(readings: Readings, interval: int) -> tuple[dict[int, dict[int, float]], str]:
    """window -> slot -> watts; and what became of the readings."""
    windows: dict[int, dict[int, float]] = {}
    counts = Counter[str]()
    latest = 0
    for time, watts in readings:
        window, slot = time // WINDOW * WINDOW, time // interval
        latest = max(latest, time)
        if window + WINDOW + GRACE <= latest:
            counts["late"] += 1
        else:
            slots = windows.setdefault(window, {})
            counts["double" if slot in slots else "taken"] += 1
            slots.setdefault(slot, watts)
    taken = f"{counts['taken']} readings, {len(windows)} windows released, 0 withheld"
    return windows, f"{taken}, {counts['late']} late, {counts['double']} sharing a slot, 0 lines"


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("kind", ["recorded", "alike"])
def test_an_export_gives_its_windows(
    name: str,
    kind: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    write_key(tmp_path)
    plainly, made = FILES[name]
    path = DATA / name
    if kind == "alike" or not path.exists():
        path = tmp_path / Path(name).name
        path.write_bytes(made(random.Random(name)))
    arguments = ARGUMENTS[plainly]
    if path.suffix == ".dat":
        arguments = (*arguments, "--delimiter", "space")
    settings = "--window 15m --query avg --epsilon 100 --radius 1W --maximum 24kW --step 1W"
    limits = "--budget 100000 --min-coverage 0 --readings exact"
    files = "--key-file noise.key -o out.jsonl --meter home"
    given = f"{settings} {limits} {files}".split()
    assert main(["sanitize", str(path), *given, *arguments]) == Exit.OK
    interval = 60_000 if plainly is uci else 10_000
    windows, told = expected(plainly(path), interval)

    released = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [r["window_start"] for r in released] == sorted(windows)
    assert [r["readings"] for r in released] == [len(windows[at]) for at in sorted(windows)]
    # Epsilon is so large that there is no noise: what is released is the average itself.
    for release in released:
        slots = windows[release["window_start"]].values()
        assert release["values"]["avg"] == pytest.approx(sum(slots) / len(slots), abs=1.001)
    assert told in capsys.readouterr().err
