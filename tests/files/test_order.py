"""The order of releases in a file tells nothing of readings, nor of a presence that is private."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from meteragent.cli import main
from meteragent.commands.exit_codes import Exit
from meteragent.files import source
from tests.files.given import BEGIN, MINUTE, SETTINGS, in_small_blocks, write_key

WINDOWS = 12


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_key(tmp_path)


def order(lines: list[bytes], *settings: str) -> list[tuple[str, int]]:
    """Of which window of which meter each line of the output is."""
    Path("in.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))
    Path("out.jsonl").unlink(missing_ok=True)
    assert main(["sanitize", "in.jsonl", "-o", "out.jsonl", *SETTINGS, *settings]) == Exit.OK
    documents = map(json.loads, Path("out.jsonl").read_text().splitlines())
    return [(d["meter_id"], d["window_start"]) for d in documents]


def block(meter: str, window: int, values: list[float | None]) -> bytes:
    start = BEGIN + window * 5 * MINUTE
    document = {"meter_id": meter, "start": start, "interval_ms": 30_000, "values": values}
    return json.dumps(document).encode()


def test_a_digit_does_not_change_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """However few bytes are held at once: the blocks of both files are cut elsewhere."""
    homes = ("home-z", "home-a")
    shorter = [block(home, n, [9.0] * 10) for n in range(WINDOWS) for home in homes]
    longer = [block("home-z", 0, [10.0] * 10), *shorter[1:]]
    monkeypatch.setattr(source, "MOST_HELD", len(shorter[0]) + len(shorter[1]) + 1)
    orders = [order(shorter), order(longer)]
    monkeypatch.setattr(source, "MOST_HELD", 2**26)
    orders += [order(shorter), order(longer)]
    in_small_blocks(monkeypatch.setattr, 3)
    orders += [order(shorter), order(longer)]
    assert len(orders[0]) == 2 * WINDOWS
    assert orders == [orders[0]] * 6


@pytest.mark.parametrize("window", ["5m", "10m"])
def test_nobody_sees_who_was_heard_where_presence_is_private(
    window: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A home is silent for half an hour, and another comes twice in its stead."""
    in_small_blocks(monkeypatch.setattr, 4)
    homes = ("home-c", "home-a", "home-b", "other")
    heard = [(home, n) for n in range(WINDOWS) for home in homes]
    silent = [("other" if home == "home-a" and 3 < n < 9 else home, n) for home, n in heard]
    gaps = ("--presence", "private", "--min-coverage", "0", "--window", window)
    one, two = (
        order([block(home, n, [5.0] * 10) for home, n in world], *gaps) for world in (heard, silent)
    )
    assert one == two
    assert one == sorted(one, key=lambda told: (told[1], told[0]))
    assert {meter for meter, _ in one} == set(homes)


def test_one_meter_after_the_other_is_refused_where_presence_is_private(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("in.jsonl").write_bytes(block("home-a", 0, [1.0]) + b"\n")
    settings = (*SETTINGS, "--presence", "private", "--min-coverage", "0", "--by-meter")
    assert main(["sanitize", "in.jsonl", *settings]) == Exit.CONFIGURATION
    assert "--by-meter: closes windows as each meter is heard" in capsys.readouterr().err
