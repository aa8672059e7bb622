"""Windows of a day, of a head-end that collects once a day: alerts fire, panels are not empty.

Readings come at ten; there is a sample every four minutes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from deploy.grafana.dashboards import ALL
from deploy.grafana.source import filled
from tests.dashboards.test_alerts import HOME, ON, Case, Series, asked_at, judged, series, well

if TYPE_CHECKING:
    from pathlib import Path

EACH, A_DAY, TEN, DAYS = 4, 360, 150, 3
"""Minutes of a sample, samples of a day, the first collection, and how many there are."""
EVENING = EACH * (A_DAY * (DAYS - 1) + 20 * 15)
"""Ten hours after what came last, in minutes."""


def lasting(value: float) -> str:
    return f"{value:g}x{A_DAY * DAYS}"


def daily(each_day: float) -> str:
    """All of it at once."""
    return " ".join(
        [f"0x{TEN - 1}", *(f"{each_day * n:g}x{A_DAY - 1}" for n in range(1, DAYS + 1))]
    )


def heard(days: int = DAYS) -> str:
    """When something came last, if it comes on so many days."""
    come = [60 * EACH * (TEN + A_DAY * n) for n in range(days)]
    return " ".join([f"0x{TEN - 1}", *(f"{time}x{A_DAY - 1}" for time in come), lasting(come[-1])])


def well_by_the_day(**changed: Series) -> Series:
    """As `well`, but nothing moves for all but a moment of the day."""
    found = {}
    for name, values in well().items():
        rise = re.fullmatch(r"0\+(\d+)x100", values)
        found[name] = daily(100 * int(rise[1])) if rise else lasting(float(values[: -len("x100")]))
    found |= {
        **series("meteragent_partition_lag_records", lasting(0), **ON, partition="0"),
        **series("meteragent_last_record_timestamp_seconds", heard(), **ON),
        **series("meteragent_policy_hop_seconds", lasting(86_400), **HOME),
        **series("meteragent_policy_delay_seconds", lasting(129_630), **HOME),
    }
    for change in changed.values():
        found |= change
    return found


DAILY = {
    "MeterAgentNothingRead": Case(
        series("meteragent_last_record_timestamp_seconds", heard(1), **ON),
        {"job": "meteragent"},
        "2d 10h 0m 0s",
    ),
    "MeterAgentReadingsLate": Case(
        series("meteragent_readings_total", daily(20_000), **ON, outcome="late"),
        {"job": "meteragent"},
        "25%",
    ),
    "MeterAgentBudgetRunsOut": Case(
        series("meteragent_budget_exhaustion_seconds", lasting(43_200), **HOME),
        {"job": "meteragent", "policy": "household"},
        "12h 0m 0s",
    ),
    "MeterAgentSuppression": Case(
        series("meteragent_windows_suppressed_total", daily(2000), **HOME, reason="coverage"),
        {"job": "meteragent", "policy": "household", "reason": "coverage"},
        "20%",
    ),
}


def test_where_readings_come_once_a_day_alerts_fire_and_nothing_else_does(tmp_path: Path) -> None:
    """In the evening, ten hours after what came last; all that is well is silent at noon too."""
    tests = [asked_at(at, well_by_the_day(), {}) for at in (EVENING - 8 * 60, EVENING)]
    for name, case in DAILY.items():
        tests.append(asked_at(EVENING, well_by_the_day(changed=case.series), {name: case}))
    code, said = judged([{**one, "interval": f"{EACH}m"} for one in tests], tmp_path, EACH)
    assert code == 0, said


# Panels.

RELEASED = "From a window's end to its release"


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


def promised(expression: str, *samples: tuple[str, int]) -> dict[str, Any]:
    """Thousandths, by their labels."""
    return {
        "expr": f"round(1000 * ({expression}))",
        "eval_time": f"{EVENING}m",
        "exp_samples": [{"labels": labels, "value": value} for labels, value in samples],
    }


def test_panels_of_windows_of_a_day_are_not_empty_in_the_evening(tmp_path: Path) -> None:
    """Of 10,000 windows a day 100 are withheld for either reason, and each is 36 hours late."""
    given = well_by_the_day()
    for edge, count in (("86400", 0), ("172800", 10_000), ("+Inf", 10_000)):
        given |= series("meteragent_release_delay_seconds_bucket", daily(count), **HOME, le=edge)
    given |= series("meteragent_ready", lasting(1), **ON)
    given |= series("meteragent_windows_released_total", daily(9800), **HOME)
    home = '{policy="household"}'
    whys = [(f'{{policy="household", reason="{why}"}}', 10) for why in ("budget", "coverage")]
    questions = [
        promised(asked("Windows withheld"), (home, 20)),
        promised(asked("Withheld, and why"), *whys),
        promised(f"86400 * {asked('Windows')}", ("{}", 9_800_000)),
        promised(f"{asked(RELEASED)} / 86400", (home, 1500)),
    ]
    tests = [
        {
            "interval": f"{EACH}m",
            "input_series": [{"series": name, "values": v} for name, v in given.items()],
            "promql_expr_test": questions,
        }
    ]
    code, said = judged(tests, tmp_path, EACH)
    assert code == 0, said
