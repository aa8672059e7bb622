"""A real Prometheus that holds windows of a day and of a month: no panel is empty.

    a day       windows of a day, of a head-end that collects at ten in the morning
    quarters    windows of a quarter of an hour, of the same head-end
    a month     windows of a month; readings come all the time

What is held is what an agent really exposes, line by line, with counters that rise when windows
are decided. It is looked at long after the last of them, over the time that each dashboard opens
with.
"""

from __future__ import annotations

import asyncio
import random
import re
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from deploy.grafana.dashboards import ALL
from deploy.grafana.source import Found, Source, filled
from meteragent.privacy.units import duration
from simulations.watching.prometheus import prometheus
from tests.watch import street
from tests.watch.test_metrics import exposed, play

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deploy.grafana.panels import Panel

DAY, HOUR = 86_400, 3600
BEGIN = 1_763_424_000
LINE = re.compile(r"(\w+)(?:\{(.*)\})? (\S+)")
RISING = ("_total", "_bucket", "_count", "_sum")
STATES = ("budget_remaining_ratio",)
"""Histograms of how things are, and not of what has happened."""
ALSO = {"meteragent_policy_pace_seconds"}
OF_WINDOWS = ("windows_", "released", "epsilon_spent", "release_delay")


@dataclass(frozen=True)
class Rhythm:
    """When windows are decided, in seconds."""

    every: int
    first: int
    times: int
    asked: int
    """When it is looked at, after the last time."""
    pace: int
    each: int
    """From one sample to the next."""
    collected: bool

    @property
    def end(self) -> int:
        return BEGIN + self.first + (self.times - 1) * self.every + self.asked

    @property
    def last(self) -> int:
        return self.end - self.asked

    def samples(self) -> range:
        return range(BEGIN, self.end + 1, self.each)

    def decided(self, moment: int) -> int:
        """How many times windows were decided by then."""
        since = moment - BEGIN - self.first
        return 0 if since < 0 else 1 + since // self.every

    @property
    def interval(self) -> str:
        """What Grafana would fill in: four samples."""
        return f"{4 * self.each}s"


AT_TEN, IN_THE_EVENING = 10 * HOUR, 10 * HOUR
RHYTHMS = {
    "a day": Rhythm(DAY, AT_TEN, 3, IN_THE_EVENING, 90_000, 240, collected=True),
    "quarters": Rhythm(DAY, AT_TEN, 3, IN_THE_EVENING, 129_600, 240, collected=True),
    "a month": Rhythm(30 * DAY, 15 * DAY, 3, 20 * DAY, 2_678_400, 900, collected=False),
}
SOME = [pytest.param(name, marks=pytest.mark.slow if name == "a month" else ()) for name in RHYTHMS]


def asked() -> Iterator[tuple[str, Panel, str, str]]:
    """Every query: the time that its dashboard opens with, its panel, expression and legend."""
    for dashboard in ALL:
        for row in dashboard.rows:
            for panel in row.panels:
                for query in panel.queries:
                    yield (
                        dashboard.since.removeprefix("now-"),
                        panel,
                        query.expression,
                        query.legend,
                    )


def held(rhythm: Rhythm) -> Iterator[str]:
    """What Prometheus would have scraped of an agent, and of one of groups too."""
    wanted = {name for _, _, text, _ in asked() for name in re.findall(r"[a-z]+_\w+", text)}
    stage, _ = play(random.Random(1), minutes=3)
    labels = {f"process_{name}": "" for name in ("cpu_seconds_total", "resident_memory_bytes")}
    of_process = [f"{name} 1.0" for name in (*labels, "process_start_time_seconds")]
    told = {"a": [*exposed(stage).splitlines(), *of_process], "b": street.scraped().splitlines()}
    for instance, lines in told.items():
        for line in lines:
            if (found := LINE.fullmatch(line)) and found[1] in wanted | ALSO:
                name, own, value = found.groups()
                place = ",".join(filter(None, (own, f'job="meteragent",instance="{instance}"')))
                for moment in rhythm.samples():
                    at = _value(rhythm, name, float(value), moment)
                    yield f"{name}{{{place}}} {at!r} {moment}\n"
    yield "# EOF\n"


def _value(rhythm: Rhythm, name: str, value: float, moment: int) -> float:
    short = name.removeprefix("meteragent_")
    if name.endswith(RISING) and not short.startswith(STATES):
        if rhythm.collected or short.startswith(OF_WINDOWS):
            return value * rhythm.decided(moment)
        return value * (moment - BEGIN) / rhythm.each
    if short.endswith(("timestamp_seconds", "event_time_seconds", "until_seconds")):
        return rhythm.last if rhythm.collected and moment >= rhythm.last else moment
    return float(rhythm.pace) if short == "policy_pace_seconds" else value


def scraped(rhythm: Rhythm, directory: Path) -> None:
    """Let the data of a Prometheus hold it."""
    text = directory / "scraped.txt"
    with text.open("w") as file:
        file.writelines(held(rhythm))
    made = ("promtool", "tsdb", "create-blocks-from", "--max-block-duration=720h", "openmetrics")
    subprocess.run(  # noqa: S603 - Prometheus' own tool
        [*made, text, directory / "data"], check=True, capture_output=True
    )


async def looked_at(rhythm: Rhythm, directory: Path) -> dict[str, tuple[list[Found], int, int]]:
    """Query -> what it finds at the end, at how many moments of its dashboard, and of how many."""
    keeps = ("--storage.tsdb.retention.time=10y", "--query.lookback-delta=20m")
    async with prometheus(directory, "1h", keeps) as one:
        return await asyncio.to_thread(_answers, one.source, rhythm)


def _answers(source: Source, rhythm: Rhythm) -> dict[str, tuple[list[Found], int, int]]:
    found = {}
    for since, panel, expression, legend in asked():
        text, length = filled(expression, rhythm.interval), duration("since", since) // 1000
        steps = 12 if not panel.instant else 0
        over = source.over(text, rhythm.end - length, rhythm.end, length / 12) if steps else []
        moments = {moment for one in over for moment in one.values}
        name = f"{panel.title}: {legend}"
        found[name] = (source.at(text, rhythm.end), len(moments), steps + 1 if steps else 0)
    return found


@pytest.mark.parametrize("name", SOME)
def test_no_panel_is_empty_between_windows(name: str, tmp_path: Path) -> None:
    rhythm = RHYTHMS[name]
    scraped(rhythm, tmp_path)
    found = asyncio.run(looked_at(rhythm, tmp_path))
    quiet = {panel.title for _, panel, _, _ in asked() if panel.nothing}
    empty = {
        its
        for its, (at_end, moments, steps) in found.items()
        if (not at_end or moments < steps) and its.partition(":")[0] not in quiet
    }
    assert empty == set()
    labelled = {
        f"{panel.title}: {query.legend}": {frozenset(query.labels)}
        for dashboard in ALL
        for panel in dashboard.panels()
        for query in panel.queries
    }
    for its, (at_end, _, _) in found.items():
        assert {frozenset(one.labels) for one in at_end} <= labelled[its], its
    ago = [one.last for one in found["Time since the last commit: ago"][0]]
    assert ago == [pytest.approx(rhythm.asked if rhythm.collected else 0, abs=rhythm.each)]
    [published] = found["Windows: published"][0]
    each_time = published.last * rhythm.every  # what counters rise by, each time, is 20
    assert 10 <= each_time <= 30
