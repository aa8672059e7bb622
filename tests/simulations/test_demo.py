"""The demonstration shows what it says, and leaves nothing behind however it ends."""

from __future__ import annotations

import os
import random
import re
import signal
import struct
import subprocess
import sys
import time
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import urlopen

import numpy as np
import pytest

from meteragent.config import from_document
from meteragent.config.presets import presets
from simulations.demo import attack
from simulations.demo.findings import Findings
from simulations.demo.stage import CONFIGURATION
from simulations.demo.street import FILMS, street
from simulations.kit.statistics import Share

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
SHORT = ("--homes", "8", "--seconds", "2")
BEGIN = 1_763_424_000_000


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """Where the demonstration keeps all that is not the picture; a failed test leaves nothing."""
    made = tmp_path / "place"
    made.mkdir()
    yield made
    for number in processes(made):
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)


def demo(
    place: Path, *arguments: str, environ: dict[str, str] | None = None
) -> subprocess.Popen[str]:
    picture = ("--picture", str(place.parent / "demo.png"))
    return subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-m", "simulations.demo", *SHORT, *picture, *arguments],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(place), **(environ or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def said(process: subprocess.Popen[str]) -> str:
    return process.communicate(timeout=120)[0]


def processes(place: Path) -> dict[int, str]:
    """Those that were told of a file there, by number."""
    lines = {}
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended meanwhile
            line = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            lines[int(entry.parent.name)] = line
    return {number: line for number, line in lines.items() if str(place) in line}


def left(place: Path) -> list[str]:
    """Files and processes."""
    files = [path.name for path in place.iterdir() if not path.name.startswith("hsperfdata")]
    return [*processes(place).values(), *files]


def width_of(picture: Path) -> int:
    content = picture.read_bytes()
    assert content.startswith(b"\x89PNG")
    assert len(content) < 150_000
    return int(struct.unpack(">I", content[16:20])[0])


def test_it_can_be_kept_running_and_says_how_it_ends(place: Path) -> None:
    told = said(demo(place, "--keep"))
    assert "no Kafka" not in told
    rows = [line.split() for line in told.splitlines() if re.match(r" +\d\d:\d\d ", line)]
    # 8 homes, a day of 96 blocks and one more, 90 readings each; windows of an hour.
    assert rows[-1][1] == f"{8 * 97 * 90:,}"
    assert rows[-1][3:] == [f"{8 * 24}", "0", "100%", "0"]
    assert "from the meter's readings:   in 8 of 8 homes" in told
    assert width_of(place.parent / "demo.png") > 800
    for url in re.findall(r"http://\S+", told):
        with urlopen(url, timeout=10) as answer:  # noqa: S310 - our own agent's
            assert answer.status == 200
    ending = told.split("this ends it:")[1].strip()
    assert left(place)
    subprocess.run(["/bin/bash", "-c", ending], cwd=ROOT, check=True, capture_output=True)  # noqa: S603
    deadline = time.monotonic() + 20
    while left(place) and time.monotonic() < deadline:
        os.sched_yield()
    assert left(place) == []


def test_without_java_it_says_so_and_shows_sanitize(place: Path) -> None:
    process = demo(place, environ={"PATH": str(place)})
    told = said(process)
    assert process.returncode == 0
    assert "no Kafka: no way to run Kafka here: Java is missing" in told
    assert "`meteragent sanitize` runs the same pipeline" in told
    assert "from the meter's readings:   in 8 of 8 homes" in told
    assert width_of(place.parent / "demo.png") > 800
    assert left(place) == []


@pytest.mark.parametrize(
    "moments", [pytest.param(1, id="some"), pytest.param(12, id="many", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("arguments", [(), ("--no-kafka",)])
def test_ended_at_any_moment_it_leaves_nothing(
    place: Path, moments: int, arguments: tuple[str, ...]
) -> None:
    draw = random.Random(moments)
    for number in range(moments):
        process = demo(place, *arguments)
        assert process.stdout is not None
        process.stdout.readline()  # from here on it is something that can be ended
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(draw.uniform(number, number + 1) * 5 / moments)
        process.send_signal(draw.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP]))
        told = said(process)
        assert "Traceback" not in told
        assert process.returncode == 130, told
        assert left(place) == []


def test_ended_while_kafka_is_fetched_it_leaves_nothing(place: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    process = demo(place, environ={"XDG_CACHE_HOME": str(cache)})
    while not any(cache.glob("meteragent/tmp*")):
        assert process.poll() is None
        os.sched_yield()
    process.send_signal(signal.SIGINT)
    said(process)
    assert process.returncode == 130
    assert left(place) == []
    assert [path.name for path in (cache / "meteragent").iterdir()] == ["fetch.lock"]


# The attacker of the picture.


def test_a_street_is_the_same_for_the_same_seed() -> None:
    one, same, other = (street(3, BEGIN, seed) for seed in (1, 1, 2))
    assert np.array_equal(one.watts, same.watts)
    assert not np.array_equal(one.watts, other.watts)
    assert one.watts.min() >= 0


def test_readings_give_the_film_away() -> None:
    made = street(5, BEGIN, 1)
    for home in range(5):
        assert attack.from_readings(made, home).argmax() == made.shown[home]


def test_what_is_found_is_said_with_its_interval_and_beside_guessing() -> None:
    shown = np.arange(200) % FILMS
    believed = np.zeros((200, FILMS))
    believed[np.arange(200), shown] = 1
    guessed = np.zeros((200, FILMS))
    guessed[:, 0] = 1
    true = np.full(24, 100.0)
    found = Findings(believed, guessed, shown, true, true + 1, true - 20)
    assert "in 200 of 200 homes" in found.words
    assert "in 5 of 200 homes, 2.5 % (95 % interval: 0.8 to 5.7 %)" in found.words
    assert f"by guessing:                 in {100 / FILMS} %" in found.words
    assert found.document["by_releases"] == Share(5, 200).document()
    assert "released in one draw: off by 1.0 % in a window" in found.words
    assert "added up from what homes publish: by 20.0 %" in found.words
    assert found.off(found.together) == pytest.approx((0.01, 0.01, 0.01))
    assert found.document["street"] == {
        "windows": 24,
        "one_draw": found.off(found.together)._asdict(),
        "added_up": found.off(found.added_up)._asdict(),
    }


def test_who_knows_the_neighbours_reads_a_home_off_their_sum() -> None:
    """Without noise; and with nothing published nobody knows anything."""
    made = street(5, BEGIN, 1)
    document = tomllib.loads(CONFIGURATION.format(servers="localhost:9092"))
    document["group"][0] |= {"epsilon": "50", "share": "1200"}
    document["budget"] |= {"groups": "1200", "amount": "1206"}
    [assigned] = from_document(document, ROOT, {}).groups
    neighbours = attack.Neighbours(made, assigned.policy)
    levels = (made.watts + 5) // 10
    panes = (2 * levels.reshape(5, 96, 90).sum(axis=2) + 90) // 180
    hours = 10.0 * ((2 * panes.sum(axis=0).reshape(24, 4).sum(axis=1) + 4) // 8)
    for home in range(5):
        belief = neighbours.belief(home, hours)
        assert belief[made.shown[home]] == belief.max() > 2 / FILMS
        nothing = np.full(24, np.nan)
        assert neighbours.belief(home, nothing) == pytest.approx(1 / FILMS)
    one, other = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.6, 0.2])
    assert attack.together(one, other) == pytest.approx(np.array([0.1, 0.18, 0.04]) / 0.32)


def test_the_attacker_compares_exact_likelihoods() -> None:
    """Without noise they are certain; their odds between two films are those of the mechanism."""
    made = street(1, BEGIN, 1)
    quarters = {"window": "15m", "step": "10W", "radius": "100W", "epsilon": "50", "budget": "4800"}
    document = {"policy": [{"name": "homes", **presets()["tv-content"].policy, **quarters}]}
    [sharp] = from_document(document, ROOT, {}).policies
    averages = made.watts[0].reshape(-1, sharp.slots).mean(axis=1)
    released = np.round(averages / 10) * 10
    assert attack.from_releases(made, 0, released, sharp).argmax() == made.shown[0]
    nothing = np.full(len(released), np.nan)
    assert attack.from_releases(made, 0, nothing, sharp) == pytest.approx(1 / FILMS)
