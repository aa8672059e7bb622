"""Every alert fires when it should, says what it should, and is silent when all is well."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from deploy.prometheus.model import PAGE, Alert, rendered
from deploy.prometheus.recorded import RECORDED
from deploy.prometheus.rules import ALERTS, HERE, files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MINUTES = 90
"""When promtool looks: one sample a minute until then, and some more."""
ON = {"job": "meteragent", "instance": "a:9108"}
HOME = ON | {"policy": "household"}
GROUPS = re.findall(r"^  - name: (\S+)$", "".join(files().values()), re.MULTILINE)
"""In the order in which one asks the other, or alerts would ask for what is recorded later."""
MEMBERSHIPS, REJECTS = "meteragent_group_memberships", "meteragent_rejects_total"
NAMES = {alert.name: alert for alert in ALERTS}

Series = dict[str, str]
"""promtool's notation: `0+5x90` counts up by 5, `0x90` stays."""


def series(metric: str, values: str, **labels: str) -> Series:
    chosen = ", ".join(f'{name}="{value}"' for name, value in labels.items())
    return {f"{metric}{{{chosen}}}": values}


def steady(value: float) -> str:
    return f"{value:g}x100"


def rising(each_minute: float, *, late: int = 0) -> str:
    """From so many minutes before the end on."""
    if late:
        return f"0x{MINUTES - late} {each_minute:g}+{each_minute:g}x{late + 10}"
    return f"0+{each_minute:g}x100"


def well(**changed: Series) -> Series:
    """An agent that is well; keywords are only names of what differs."""
    found = {
        **series("up", steady(1), **ON),
        **series("process_start_time_seconds", steady(0), **ON),
        **series("meteragent_key_info", steady(1), **ON, fingerprint="aa"),
        **series("meteragent_alive", steady(1), **ON),
        **series("meteragent_clock_trusted", steady(1), **ON),
        **series("meteragent_partitions", steady(0), **ON, state="restoring"),
        **series("meteragent_partitions", steady(6), **ON, state="running"),
        **series("meteragent_restore_lost_records_total", steady(0), **ON),
        **series("meteragent_releases_outlived_total", steady(0), **ON),
        **series("meteragent_partition_lag_records", steady(100), **ON, partition="0"),
        **series("meteragent_partition_blocked_seconds", steady(0), **ON, partition="0"),
        **series("meteragent_group_panes_waiting", steady(0), **HOME),
        **series("meteragent_records_total", rising(600), **ON),
        **series("meteragent_last_record_timestamp_seconds", rising(60), **ON),
        **series("meteragent_policy_pace_seconds", steady(900), **HOME),
        **series("meteragent_policy_delay_seconds", steady(330), **HOME),
        **series("meteragent_readings_total", rising(600), **ON, outcome="accepted"),
        **series("meteragent_readings_total", rising(6), **ON, outcome="late"),
        **series("meteragent_transactions_total", rising(60), **ON, result="committed"),
        **series("meteragent_transactions_total", steady(0), **ON, result="abandoned"),
        **series("meteragent_budget_exhaustion_seconds", steady(100_000), **HOME),
        **series("meteragent_meters", steady(100), **HOME),
        **series("meteragent_meters_exhausted", steady(1), **HOME),
        **series("meteragent_windows_closed_total", rising(100), **HOME),
    }
    for reason in ("budget", "coverage"):
        found |= series("meteragent_windows_suppressed_total", rising(1), **HOME, reason=reason)
    for reason in ("future", "not_json"):
        found |= series("meteragent_rejects_total", rising(1), **ON, reason=reason)
    for kind in ("kafka", "bug"):
        found |= series("meteragent_failures_total", steady(0), **ON, where="partition", kind=kind)
    for change in changed.values():
        found |= change
    return found


@dataclass(frozen=True)
class Case:
    """What is the matter, and how the alert says it."""

    series: Series
    labels: dict[str, str] = field(default_factory=lambda: ON)
    value: str = ""


FIRING = {
    "MeterAgentDown": Case(series("up", steady(0), **ON)),
    "MeterAgentKeysDiffer": Case(
        series("meteragent_key_info", steady(1), job="meteragent", instance="b", fingerprint="bb"),
        {"job": "meteragent"},
        "2",
    ),
    "MeterAgentNoProgress": Case(series("meteragent_alive", steady(0), **ON)),
    "MeterAgentProcessEnds": Case(
        series("meteragent_process_ends_total", f"0x{MINUTES - 30} 3x50", **ON, how="killed")
    ),
    "MeterAgentRestoreStuck": Case(
        series("meteragent_partitions", steady(2), **ON, state="restoring"), ON, "2"
    ),
    "MeterAgentRestoreLostRecords": Case(
        series("meteragent_restore_lost_records_total", f"0x{MINUTES - 30} 7x50", **ON)
    ),
    "MeterAgentReleasesOutlived": Case(
        series("meteragent_releases_outlived_total", f"0x{MINUTES - 30} 7x50", **ON)
    ),
    "MeterAgentLag": Case(
        series("meteragent_partition_lag_records", steady(12_000), **ON, partition="0"),
        {"job": "meteragent"},
        "20m 0s",
    ),
    "MeterAgentNothingRead": Case(
        {
            **series("meteragent_records_total", steady(600), **ON),
            **series("meteragent_last_record_timestamp_seconds", steady(45 * 60), **ON),
            **series("meteragent_partition_lag_records", steady(0), **ON, partition="0"),
            **series("meteragent_rejects_total", steady(1), **ON, reason="future"),
            **series("meteragent_rejects_total", steady(1), **ON, reason="not_json"),
        },
        {"job": "meteragent"},
        "45m 0s",
    ),
    "MeterAgentGroupsWait": Case(
        series("meteragent_group_panes_waiting", steady(2), **HOME),
        {"job": "meteragent", "policy": "household"},
        "2",
    ),
    "MeterAgentMembersRefused": Case(
        series(MEMBERSHIPS, steady(3), **ON, work="homes", outcome="refused")
        | series(MEMBERSHIPS, steady(3), **ON | {"instance": "b"}, work="homes", outcome="refused")
        | series(MEMBERSHIPS, steady(3), **ON, work="groups", outcome="refused"),
        {"job": "meteragent", "outcome": "refused"},
        "3",
    ),
    "MeterAgentPartialsRefused": Case(
        series(REJECTS, f"0x{MINUTES - 30} 7x50", **ON, work="groups", reason="other_members"), ON
    ),
    "MeterAgentInputBlocked": Case(
        series("meteragent_partition_blocked_seconds", steady(90), **ON, partition="0"),
        ON | {"partition": "0"},
        "1m 30s",
    ),
    "MeterAgentSchemaAwaited": Case(
        series("meteragent_partition_schema_wait_seconds", steady(90), **ON, partition="0"),
        ON | {"partition": "0"},
        "1m 30s",
    ),
    "MeterAgentReadingsLate": Case(
        series("meteragent_readings_total", rising(200), **ON, outcome="late"),
        {"job": "meteragent"},
        "25%",
    ),
    "MeterAgentClockNotTrusted": Case(series("meteragent_clock_trusted", steady(0), **ON)),
    "MeterAgentTransactionsAborting": Case(
        series("meteragent_transactions_total", rising(20), **ON, result="abandoned"), ON, "25%"
    ),
    "MeterAgentFailing": Case(
        series("meteragent_failures_total", rising(1), **ON, where="partition", kind="kafka"),
        ON | {"kind": "kafka"},
        "15",
    ),
    "MeterAgentBug": Case(
        series(
            "meteragent_failures_total",
            f"0x{MINUTES - 30} 1x50",
            **ON,
            where="partition",
            kind="bug",
        )
    ),
    "MeterAgentBudgetRunsOut": Case(
        series("meteragent_budget_exhaustion_seconds", steady(1800), **HOME),
        {"job": "meteragent", "policy": "household"},
        "30m 0s",
    ),
    "MeterAgentMetersExhausted": Case(
        series("meteragent_meters_exhausted", steady(40), **HOME),
        {"job": "meteragent", "policy": "household"},
        "40%",
    ),
    "MeterAgentSuppression": Case(
        series("meteragent_windows_suppressed_total", rising(20), **HOME, reason="coverage"),
        {"job": "meteragent", "policy": "household", "reason": "coverage"},
        "20%",
    ),
    "MeterAgentClockSkew": Case(
        series("meteragent_rejects_total", rising(12), **ON, reason="future"),
        {"job": "meteragent", "reason": "future"},
        "2%",
    ),
    "MeterAgentWrongPartition": Case(
        series(
            "meteragent_rejects_total", f"0x{MINUTES - 30} 7x50", **ON, reason="wrong_partition"
        ),
        ON,
        "7",
    ),
    "MeterAgentRejects": Case(
        series("meteragent_rejects_total", rising(60), **ON, reason="not_json"),
        {"job": "meteragent"},
        "10%",
    ),
}

ALMOST = {
    "MeterAgentDown": series("up", f"1x{MINUTES - 1} 0x20", **ON),
    "MeterAgentKeysDiffer": series(
        "meteragent_key_info", steady(1), job="meteragent", instance="b", fingerprint="aa"
    ),
    "MeterAgentNoProgress": series("meteragent_alive", f"1x{MINUTES - 1} 0x20", **ON),
    "MeterAgentProcessEnds": series(
        "meteragent_process_ends_total", f"0x{MINUTES - 30} 2x50", **ON, how="killed"
    ),
    "MeterAgentRestoreStuck": series(
        "meteragent_partitions", f"0x{MINUTES - 10} 3x20", **ON, state="restoring"
    ),
    "MeterAgentRestoreLostRecords": series(
        "meteragent_restore_lost_records_total", steady(7), **ON
    ),
    "MeterAgentReleasesOutlived": series("meteragent_releases_outlived_total", steady(7), **ON),
    "MeterAgentLag": series("meteragent_partition_lag_records", steady(5000), **ON, partition="0"),
    "MeterAgentNothingRead": series(
        "meteragent_last_record_timestamp_seconds", steady((MINUTES - 29) * 60), **ON
    ),
    "MeterAgentGroupsWait": series(
        "meteragent_group_panes_waiting", f"0x{MINUTES - 20} 1x30", **HOME
    ),
    "MeterAgentMembersRefused": series(
        MEMBERSHIPS, steady(3), **ON, work="homes", outcome="members"
    ),
    "MeterAgentPartialsRefused": series(
        REJECTS, steady(7), **ON, work="groups", reason="late_partial"
    ),
    "MeterAgentInputBlocked": series(
        "meteragent_partition_blocked_seconds", steady(50), **ON, partition="0"
    ),
    "MeterAgentSchemaAwaited": series(
        "meteragent_partition_schema_wait_seconds", steady(20), **ON, partition="0"
    ),
    "MeterAgentReadingsLate": series("meteragent_readings_total", rising(30), **ON, outcome="late"),
    "MeterAgentClockNotTrusted": series("meteragent_clock_trusted", f"1x{MINUTES - 1} 0x20", **ON),
    "MeterAgentTransactionsAborting": series(
        "meteragent_transactions_total", rising(5), **ON, result="abandoned"
    ),
    "MeterAgentFailing": series(
        "meteragent_failures_total", f"0x{MINUTES - 8} 4x20", **ON, where="agent", kind="kafka"
    ),
    "MeterAgentBug": series(
        "meteragent_failures_total", steady(3), **ON, where="partition", kind="bug"
    ),
    "MeterAgentBudgetRunsOut": series("meteragent_budget_exhaustion_seconds", steady(4000), **HOME),
    "MeterAgentMetersExhausted": series("meteragent_meters_exhausted", steady(9), **HOME),
    "MeterAgentSuppression": series(
        "meteragent_windows_suppressed_total", rising(4), **HOME, reason="coverage"
    ),
    "MeterAgentClockSkew": series("meteragent_rejects_total", rising(5), **ON, reason="future"),
    "MeterAgentWrongPartition": series(
        "meteragent_rejects_total", steady(7), **ON, reason="wrong_partition"
    ),
    "MeterAgentRejects": series("meteragent_rejects_total", rising(25), **ON, reason="not_json"),
}
"""Not bad enough, or not for long enough."""


def expected(alert: Alert, case: Case) -> dict[str, Any]:
    labels = {**case.labels, "severity": alert.severity}
    annotations = {
        "summary": rendered(alert.summary, labels, case.value),
        "description": rendered(alert.description, labels, case.value),
        "runbook_url": alert.anchor,
    }
    return {"exp_labels": labels, "exp_annotations": annotations}


def test(given: Series, firing: dict[str, Case]) -> dict[str, Any]:
    """One of promtool's tests: exactly these alerts fire."""
    return asked_at(MINUTES, given, firing)


test.__test__ = False  # type: ignore[attr-defined]


def asked_at(minutes: int, given: Series, firing: dict[str, Case]) -> dict[str, Any]:
    """One that is asked so many minutes in."""
    return {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in given.items()],
        "alert_rule_test": [
            {
                "eval_time": f"{minutes}m",
                "alertname": name,
                "exp_alerts": [expected(alert, firing[name])] if name in firing else [],
            }
            for name, alert in NAMES.items()
        ],
    }


def promtool(*arguments: str | Path) -> tuple[int, str]:
    done = subprocess.run(  # noqa: S603 - Prometheus' own tool
        ["promtool", *arguments],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def judged(tests: list[dict[str, Any]], tmp_path: Path, each: int = 1) -> tuple[int, str]:
    """What promtool makes of them, if rules are looked at every so many minutes."""
    document = {
        "rule_files": [str(HERE / "rules.yml"), str(HERE / "alerts.yml")],
        "evaluation_interval": f"{each}m",
        "group_eval_order": GROUPS,
        "tests": tests,
    }
    (tmp_path / "tests.yml").write_text(json.dumps(document))  # JSON is YAML
    return promtool("test", "rules", tmp_path / "tests.yml")


def test_there_are_cases_for_every_alert() -> None:
    assert set(FIRING) == set(ALMOST) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_an_alert_fires_says_what_it_means_and_nothing_else_fires(
    name: str, tmp_path: Path
) -> None:
    case = FIRING[name]
    code, said = judged([test(well(changed=case.series), {name: case})], tmp_path)
    assert code == 0, said


def test_alerts_are_silent_when_all_is_well_or_nearly(tmp_path: Path) -> None:
    tests = [test(well(), {}), *(test(well(changed=given), {}) for given in ALMOST.values())]
    code, said = judged(tests, tmp_path)
    assert code == 0, said


def test_a_test_that_expects_too_much_fails(tmp_path: Path) -> None:
    """promtool would notice."""
    code, _ = judged([test(well(), {"MeterAgentDown": FIRING["MeterAgentDown"]})], tmp_path)
    assert code != 0


def test_a_loss_before_the_first_scrape_is_seen(tmp_path: Path) -> None:
    """A restore may be over before anybody asks: then the counter never rises."""
    young = {
        **series("process_start_time_seconds", steady(60 * 60), **ON),
        **series("meteragent_restore_lost_records_total", f"_x{MINUTES - 20} 7x30", **ON),
    }
    case = FIRING["MeterAgentRestoreLostRecords"]
    code, said = judged(
        [test(well(changed=young), {"MeterAgentRestoreLostRecords": case})], tmp_path
    )
    assert code == 0, said


def test_promtool_has_nothing_to_say() -> None:
    code, said = promtool("check", "rules", HERE / "rules.yml", HERE / "alerts.yml")
    assert code == 0, said
    found = {int(count) for count in re.findall(r"SUCCESS: (\d+) rules found", said)}
    assert found == {len(RECORDED), len(ALERTS)}


def test_the_configuration_of_prometheus_is_good() -> None:
    code, said = promtool("check", "config", HERE / "prometheus.yml")
    assert code == 0, said


@pytest.mark.parametrize("name", ["rules.yml", "alerts.yml", PAGE])
def test_the_files_are_fresh(name: str) -> None:
    """If not: python -m deploy.prometheus.rules"""
    assert (HERE / name).read_text() == files()[name]


def anchors() -> Iterator[str]:
    for heading in re.findall(r"^## (.+)$", (HERE / PAGE).read_text(), re.MULTILINE):
        yield f"{PAGE}#{heading.lower()}"


def test_every_alert_has_its_runbook() -> None:
    assert [alert.anchor for alert in ALERTS] == [*anchors()]
    for alert in ALERTS:
        assert alert.summary
        assert alert.description.endswith(".")
        assert alert.meaning
        assert alert.steps


def test_recorded_names_say_their_labels() -> None:
    """level:metric:operations, where the level is what the result is grouped by."""
    for rule in RECORDED:
        level, metric, operations = rule.name.split(":")
        assert metric.startswith("meteragent_")
        assert operations
        by = re.findall(r"by \(([^)]*)\)", rule.expression)[0]
        assert "_".join(by.split(", ")) == level
