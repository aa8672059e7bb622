"""What moves seldom: alerts fire and panels are not empty, hours and weeks after the last time.

There is a sample every four minutes, as Prometheus forgets what is older than five.

    a day       windows of a day, of a head-end that collects at ten in the morning
    quarters    windows of a quarter of an hour, of the same head-end
    a month     windows of a month; readings come all the time
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest

from deploy.grafana.dashboards import ALL
from deploy.grafana.source import filled
from tests.dashboards.test_alerts import (
    HOME,
    MEMBERSHIPS,
    ON,
    Case,
    Series,
    asked_at,
    judged,
    series,
    well,
)

if TYPE_CHECKING:
    from pathlib import Path

EACH, HOUR, DAY = 4, 15, 360
"""Minutes of a sample; samples of an hour, and of a day."""


@dataclass(frozen=True)
class Rhythm:
    """When windows are decided, in samples: three times in all."""

    period: int
    first: int
    asked: int
    """When it is looked at, after the last time."""
    pace: int
    """Of the policy, in seconds, as is its delay."""
    delay: int
    judged_each: int
    """How often rules are, in minutes."""
    collected: bool
    """Whether readings come at these times too, and not between."""
    times: int = 3

    @property
    def end(self) -> int:
        """In minutes."""
        return EACH * (self.first + self.period * (self.times - 1) + self.asked)

    def lasting(self, value: float) -> str:
        return f"{value:g}x{self.period * (self.times + 1)}"

    def rare(self, each: float) -> str:
        """All of it at once, each time."""
        times = range(1, self.times + 1)
        return " ".join(
            [f"0x{self.first - 1}", *(f"{each * n:g}x{self.period - 1}" for n in times)]
        )

    def heard(self, times: int) -> str:
        """When something came last, if it comes so often."""
        come = [60 * EACH * (self.first + self.period * n) for n in range(times)]
        then = (f"{time}x{self.period - 1}" for time in come)
        return " ".join([f"0x{self.first - 1}", *then, self.lasting(come[-1])])

    def steadily(self, each_minute: int) -> str:
        return f"0+{each_minute * EACH}x{self.period * (self.times + 1)}"

    def well(self, **changed: Series) -> Series:
        """As an agent that is well, but windows are decided at these times alone."""
        found = {}
        for name, values in well().items():
            rise = re.fullmatch(r"0\+(\d+)x100", values)
            if not rise:
                found[name] = self.lasting(float(values[: -len("x100")]))
            elif self.collected or "windows" in name:
                found[name] = self.rare(100 * int(rise[1]))
            else:
                found[name] = self.steadily(int(rise[1]))
        heard = self.heard(self.times) if self.collected else self.steadily(60)
        lag = 0 if self.collected else 100
        lasts = self.lasting(2 * self.pace)
        found |= {
            **series("meteragent_budget_exhaustion_seconds", lasts, **HOME),
            **series("meteragent_partition_lag_records", self.lasting(lag), **ON, partition="0"),
            **series("meteragent_last_record_timestamp_seconds", heard, **ON),
            **series("meteragent_policy_pace_seconds", self.lasting(self.pace), **HOME),
            **series("meteragent_policy_delay_seconds", self.lasting(self.delay), **HOME),
        }
        for change in changed.values():
            found |= change
        return found


AT_TEN, IN_THE_EVENING = 10 * HOUR, 10 * HOUR
HABIT = 129_600
A_DAY = Rhythm(DAY, AT_TEN, IN_THE_EVENING, HABIT, HABIT + 30, 60, collected=True)
LONG_DAY = Rhythm(DAY, AT_TEN, IN_THE_EVENING, 90_000, HABIT + 30, 60, collected=True)
A_MONTH = Rhythm(30 * DAY, 15 * DAY, 20 * DAY, 2_678_400, 330, 12 * 60, collected=False)
RHYTHMS = {"a day": LONG_DAY, "quarters": A_DAY, "a month": A_MONTH}


def cases(rhythm: Rhythm) -> dict[str, Case]:
    """What is the matter in each, and must be said when it is looked at."""
    silent = 13 * 3600
    stopped = rhythm.lasting(rhythm.end * 60 - silent)
    nothing_read = (rhythm.heard(1), "2d 10h 0m 0s") if rhythm.collected else (stopped, "13h 0m 0s")
    late = rhythm.rare(20_000) if rhythm.collected else rhythm.steadily(200)
    left = rhythm.pace // 2
    days, hours = divmod(left // 3600, 24)
    exhausted = f"{f'{days}d ' if days else ''}{hours}h {left % 3600 // 60}m 0s"
    return {
        "MeterAgentNothingRead": Case(
            series("meteragent_last_record_timestamp_seconds", nothing_read[0], **ON),
            {"job": "meteragent"},
            nothing_read[1],
        ),
        "MeterAgentReadingsLate": Case(
            series("meteragent_readings_total", late, **ON, outcome="late"),
            {"job": "meteragent"},
            "25%",
        ),
        "MeterAgentBudgetRunsOut": Case(
            series("meteragent_budget_exhaustion_seconds", rhythm.lasting(left), **HOME),
            {"job": "meteragent", "policy": "household"},
            exhausted,
        ),
        "MeterAgentSuppression": Case(
            series(
                "meteragent_windows_suppressed_total",
                rhythm.rare(2000),
                **HOME,
                reason="coverage",
            ),
            {"job": "meteragent", "policy": "household", "reason": "coverage"},
            "20%",
        ),
    }


OFTEN = {"a day": EACH, "quarters": EACH, "a month": 6 * 60}
"""Minutes from one time that rules are judged to the next, for who has the time."""


@pytest.mark.parametrize(
    "rhythm",
    [
        *(pytest.param(rhythm, id=name) for name, rhythm in RHYTHMS.items()),
        *(
            pytest.param(
                replace(RHYTHMS[name], judged_each=each),
                id=f"{name}, often",
                marks=pytest.mark.slow,
            )
            for name, each in OFTEN.items()
        ),
    ],
)
def test_alerts_fire_long_after_the_last_window_and_nothing_else_does(
    rhythm: Rhythm, tmp_path: Path
) -> None:
    """All that is well is silent, hours before as well."""
    before = rhythm.end - rhythm.end % 360 - 360
    tests = [asked_at(at, rhythm.well(), {}) for at in (before, rhythm.end)]
    for alert, case in cases(rhythm).items():
        tests.append(asked_at(rhythm.end, rhythm.well(changed=case.series), {alert: case}))
    given = [{**one, "interval": f"{EACH}m"} for one in tests]
    code, said = judged(given, tmp_path, rhythm.judged_each)
    assert code == 0, said


# Panels.

RELEASED, COMMIT = "Delay from window end to release", "Commit duration"


def asked(title: str, number: int = 0) -> str:
    """What a panel asks, of everything."""
    [panel] = [
        panel
        for dashboard in ALL
        for row in dashboard.rows
        for panel in row.panels
        if panel.title == title
    ]
    return filled(panel.queries[number].expression, "16m")


def promised(rhythm: Rhythm, expression: str, *samples: tuple[str, int]) -> dict[str, Any]:
    """Thousandths, by their labels."""
    return {
        "expr": f"round(1000 * ({expression}))",
        "eval_time": f"{rhythm.end}m",
        "exp_samples": [{"labels": labels, "value": value} for labels, value in samples],
    }


@pytest.mark.parametrize("name", RHYTHMS)
def test_panels_are_not_empty_long_after_the_last_window(name: str, tmp_path: Path) -> None:
    """Of 10,000 windows each time 100 are withheld for either reason, each released 36 hours late.

    What is committed once a day takes a second and a half.
    """
    rhythm = RHYTHMS[name]
    given = rhythm.well()
    for edge, count in (("86400", 0), ("172800", 10_000), ("+Inf", 10_000)):
        bucket = rhythm.rare(count)
        given |= series("meteragent_release_delay_seconds_bucket", bucket, **HOME, le=edge)
    for edge, count in (("1", 0), ("2", 500), ("+Inf", 500)):
        bucket = rhythm.rare(count)
        given |= series("meteragent_transaction_duration_seconds_bucket", bucket, **ON, le=edge)
    given |= series("meteragent_ready", rhythm.lasting(1), **ON)
    given |= series(MEMBERSHIPS, rhythm.lasting(9), **ON, outcome="members")
    given |= series("meteragent_windows_released_total", rhythm.rare(9800), **HOME)
    home = '{policy="household"}'
    whys = [(f'{{policy="household", reason="{why}"}}', 10) for why in ("budget", "coverage")]
    period = rhythm.period * EACH * 60
    questions = [
        promised(rhythm, asked("Windows withheld"), (home, 20)),
        promised(rhythm, asked("Group windows withheld"), (home, 20)),
        promised(rhythm, asked("Withheld windows by reason"), *whys),
        promised(rhythm, f"{asked(RELEASED)} / 86400", (home, 1500)),
        promised(rhythm, f"{period} * {asked('Windows')} > bool 5000", ("{}", 1000)),
    ]
    if rhythm.collected:
        questions.append(promised(rhythm, asked(COMMIT), ("{}", 1500)))
    tests = [
        {
            "interval": f"{EACH}m",
            "input_series": [{"series": name, "values": v} for name, v in given.items()],
            "promql_expr_test": questions,
        }
    ]
    code, said = judged(tests, tmp_path, rhythm.judged_each)
    assert code == 0, said
