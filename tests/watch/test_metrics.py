from __future__ import annotations

import random
import shutil
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_families
from prometheus_client.parser import text_string_to_metric_families as text_families
from structlog.testing import capture_logs

from meteragent.stream.partition import State
from meteragent.stream.readings import Reason
from meteragent.watch.events import (
    AgentFailed,
    BatchTaken,
    ClockCompared,
    ClockFailed,
    PartitionFailed,
    PartitionMoved,
    PartitionRestored,
    Rebalanced,
    SessionLost,
    TransactionAbandoned,
    TransactionEnded,
    WindowsDecided,
)
from meteragent.watch.metrics import Monitor
from meteragent.watch.status import Status
from tests.watch.stage import BEGIN, MINUTE, POLICIES, Stage, block, config, reading

if TYPE_CHECKING:
    from collections.abc import Iterable

    from meteragent.watch.events import Occurrence

OPEN = "application/openmetrics-text; version=1.0.0"
MOST_SERIES = 500


def exposed(stage: Stage, accept: str = "") -> str:
    return stage.monitor.series.expose(accept)[0].decode()


def series(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("#")]


def play(values: random.Random, *, minutes: int = 14) -> tuple[Stage, list[object]]:
    """Two partitions, two policies, gaps, late and broken records; only `values` is drawn."""
    with capture_logs() as lines:
        stage = Stage(config(), partitions=2)
        for minute in range(minutes):
            stage.now = (BEGIN + (minute + 1) * MINUTE) / 1000
            for partition in range(2):
                stage.read(partition, one_minute(minute, partition, values))
                stage.commit(partition)
    return stage, list(lines)


def one_minute(minute: int, partition: int, values: random.Random) -> Iterable[bytes]:
    for meter in range(6):
        watts = [values.choice([0, 1e9, -5, values.random() * 24_000]) for _ in range(6)]
        gaps = [None if (minute + meter + slot) % 4 == 0 else w for slot, w in enumerate(watts)]
        yield block(f"m-{partition}-{meter}", minute, gaps)
    yield block(f"f-{partition}", minute, [values.random() * 400_000] * 6)
    yield block(f"m-{partition}-0", minute - minute % 4, [values.random()] * 6)  # again, or late
    yield b"{"
    yield reading("", BEGIN, values.random())


def test_nothing_that_leaves_depends_on_a_value() -> None:
    (one, its), (other, others) = play(random.Random(1)), play(random.Random(2))
    assert exposed(one) == exposed(other)
    assert exposed(one, OPEN) == exposed(other, OPEN)
    assert its == others
    documents = [
        Status(s.settings, s.monitor, s, wall=lambda: BEGIN).document() for s in (one, other)
    ]
    assert documents[0] == documents[1]
    counted = [line for line in series(exposed(one)) if not line.endswith(" 0.0")]
    for label in ("late", "duplicate", "coverage", "budget", "not_json", "bad_meter"):
        assert any(f'"{label}"' in line for line in counted), label


def test_what_depends_on_times_is_seen() -> None:
    """The test above would notice a difference."""
    longer, shorter = play(random.Random(1))[0], play(random.Random(1), minutes=13)[0]
    assert exposed(longer) != exposed(shorter)


def test_no_meter_is_named() -> None:
    stage, lines = play(random.Random(1), minutes=3)
    assert stage.value("meters", policy="household") == 12
    everything = exposed(stage) + str(lines)
    assert not any(meter in everything for meter in ("m-0", "m-1", "f-0", "f-1"))


def test_every_series_is_there_from_the_start() -> None:
    def names(stage: Stage) -> set[str]:
        lines = series(exposed(stage))
        return {line.rpartition(" ")[0] for line in lines if "event_time" not in line}

    stage, _ = play(random.Random(1))
    assert names(Stage(config(), partitions=2)) == names(stage)


def test_series_stay_few_for_64_partitions() -> None:
    coarse = POLICIES.replace('"24kW"', '"1kW"').replace('"400kW"', '"1kW"')  # soon made
    lines = series(exposed(Stage(config(coarse), partitions=64)))
    assert len(lines) + 10 < MOST_SERIES  # ten for the process


@pytest.mark.parametrize(("accept", "families"), [("", text_families), (OPEN, open_families)])
def test_both_formats_are_read_by_the_library_that_prometheus_keeps(
    accept: str, families: object
) -> None:
    stage, _ = play(random.Random(1), minutes=3)
    found = {
        (s.name, *sorted(s.labels.items())): s.value
        for family in families(exposed(stage, accept))  # type: ignore[operator]
        for s in family.samples
    }
    assert found["meteragent_records_total",] == 3 * 2 * 10
    assert found["meteragent_ready",] == 1
    assert not any(str(key[0]).endswith("_created") for key in found)


def test_promtool_has_nothing_to_say() -> None:
    promtool = shutil.which("promtool")
    assert promtool, "run tests/dashboards/install"
    stage, _ = play(random.Random(1), minutes=3)
    done = subprocess.run(  # noqa: S603 - Prometheus' own tool
        [promtool, "check", "metrics"],
        input=exposed(stage),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_counts_are_those_of_what_was_read() -> None:
    stage = Stage(config())
    stage.now += 120
    stage.read(0, [block("m", 0, [1, None, 3, 4, 5, 6]), block("m", 0, [9, 2, 9, 9, 9, 9])])
    stage.read(0, [block("m", 1, [1, 1]), block("m", 0, [1, 1]), b"", b"[]", b"[]"])
    outcomes = {
        o: stage.value("readings_total", outcome=o) for o in ("accepted", "late", "duplicate")
    }
    assert outcomes == {"accepted": 8, "late": 2, "duplicate": 5}
    rejects = {r: stage.value("rejects_total", reason=r.value) for r in Reason}
    assert {r for r, count in rejects.items() if count} == {Reason.EMPTY, Reason.WRONG_SHAPE}
    assert stage.value("records_total") == 7


def test_what_is_not_committed_was_neither_released_nor_paid() -> None:
    stage = Stage(config())
    stage.now += 300
    stage.read(0, [block("m", minute, [1] * 6) for minute in range(4)])
    assert stage.value("released_total", policy="household", query="avg") == 0
    stage.monitor.tell(PartitionMoved(0, State.FAILED))
    stage.start(0)
    stage.read(0, [block("m", minute, [1] * 6) for minute in range(4)])
    assert stage.commit(0) == 3
    assert stage.value("released_total", policy="household", query="avg") == 3
    assert stage.value("epsilon_spent_total", policy="household", query="p95") == 1.5
    assert stage.value("windows_closed_total", policy="household") == 3


def test_a_commit_is_about_the_windows_before_it() -> None:
    stage = Stage(config())
    tell = stage.monitor.tell
    first = decided(stage, windows=4, released=4)
    for event in (first, replace(first, newest_end=BEGIN + MINUTE), first):
        tell(event)
    stage.now = BEGIN / 1000 + 70
    tell(TransactionEnded(0, 8, 0.1))
    assert stage.value("windows_released_total", policy="household") == 8
    assert stage.value("release_delay_seconds_sum", policy="household") == 70 + 10
    assert stage.value("release_delay_seconds_count", policy="household") == 2
    assert stage.value("last_commit_timestamp_seconds") == stage.now
    tell(TransactionEnded(0, 0, 0.1))  # a position alone
    assert stage.value("windows_released_total", policy="household") == 8


def test_releases_that_are_deleted_at_once_are_counted_and_said_once_an_hour() -> None:
    stage = Stage(config())
    with capture_logs() as lines:
        for passed, gone in ((0, 0), (1, 5), (1, 3), (3600, 0), (1, 4), (3600, 4)):
            stage.now += passed
            stage.monitor.tell(TransactionEnded(0, 9, 0.1, gone))
    assert stage.value("releases_outlived_total") == 16
    said = [line["releases"] for line in lines if line["log_level"] == "warning"]
    assert said == [5, 3, 8]


def decided(stage: Stage, windows: int, released: int, **withheld: int) -> WindowsDecided:
    policy = next(iter(stage.monitor.guarantees))
    counts = {"avg": released, "p95": released}
    return WindowsDecided(0, policy, windows, counts, withheld, {"avg": 0, "p95": 0}, BEGIN)  # type: ignore[arg-type]


def test_a_window_that_keeps_an_answer_is_not_suppressed() -> None:
    stage = Stage(config())
    stage.now += 1200
    stage.read(0, [block("f-1", minute, [1] * 6) for minute in range(6)])
    stage.commit(0)
    assert stage.value("windows_released_total", policy="feeder") == 4
    assert stage.value("windows_suppressed_total", policy="feeder", reason="budget") == 1
    answers = [
        stage.value("released_total", policy="feeder", query=q) for q in ("avg", "max", "min")
    ]
    assert answers == [4, 3, 3]


EVENTS: list[Occurrence] = [
    BatchTaken(0, 5, 3, 1, 1, 2, {Reason.EMPTY: 2}),
    TransactionEnded(0, 3, 0.1),
    TransactionEnded(0, 3, 0.1, outlived=2),
    TransactionAbandoned(0),
    PartitionMoved(0, State.FENCING),
    PartitionRestored(0, 5, 1.5, 0),
    PartitionRestored(0, 5, 1.5, 7),
    PartitionFailed(0, ValueError("12.5"), 0.5),
    AgentFailed(OSError("12.5"), 0.5),
    ClockFailed(TimeoutError("12.5"), 0.5),
    Rebalanced((0, 1)),
    SessionLost(0),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_is_one_line_at_most_and_some_series_know_of_it(event: Occurrence) -> None:
    monitor = Monitor(config())
    before = monitor.series.expose()
    with capture_logs() as lines:
        monitor.tell(event)
    assert len(lines) == 1
    assert "12.5" not in str({k: v for k, v in lines[0].items() if k != "exc_info"})
    assert monitor.series.expose() != before


def test_a_clock_that_is_wrong_is_said_as_an_error_and_one_that_was_set_is_not() -> None:
    monitor = Monitor(config())
    with capture_logs() as lines:
        monitor.tell(ClockCompared(3600.0004, 10.0))
        monitor.tell(ClockCompared(0.0, 10.0))
    assert lines == [
        {"event": "clock differs from the brokers'", "ahead": 3600.0, "log_level": "error"},
        {"event": "clock agrees with the brokers' again", "ahead": 0.0, "log_level": "info"},
    ]


def test_only_coming_and_going_is_news() -> None:
    stage = Stage(config())
    with capture_logs() as lines:
        stage.commit(0)
        stage.monitor.tell(PartitionMoved(0, State.DRAINING))
        stage.monitor.tell(PartitionMoved(0, State.LOST))
    moved = [line["log_level"] for line in lines if line["event"] == "partition state changed"]
    assert moved == ["debug", "debug", "info", "info"]
    assert stage.value("partitions", state="draining") == 0
    assert stage.monitor.states == {}


def test_partitions_are_counted_by_state() -> None:
    stage = Stage(config(), partitions=3)
    stage.monitor.tell(PartitionMoved(2, State.FAILED))
    counts = {s: stage.value("partitions", state=s) for s in ("running", "failed", "restoring")}
    assert counts == {"running": 2, "failed": 1, "restoring": 0}


def test_errors_are_counted_by_whose_they_may_be() -> None:
    stage = Stage(config())
    for error in (TimeoutError(), KeyError("a"), KeyError("b")):
        stage.monitor.tell(PartitionFailed(0, error, 1))
    assert stage.value("failures_total", where="partition", kind="system") == 1
    assert stage.value("failures_total", where="partition", kind="bug") == 2
    assert [m.error for m in stage.monitor.recent.mishaps] == [
        "TimeoutError",
        "KeyError",
        "KeyError",
    ]


def test_where_presence_is_private_nobody_counts_readings() -> None:
    private = POLICIES.replace('name = "feeder"', 'name = "feeder"\npresence = "private"')
    one, other = Stage(config(private)), Stage(config(private))
    for stage, watts in ((one, [1.0] * 6), (other, [1.0, None, None, 1.0, 1.0, None])):
        stage.now += 120
        stage.read(0, [block("f-1", 0, watts), block("f-1", 0, [2.0] * 6)])
        stage.read(0, [block("f-1", 1, [1.0] * 6)])
        stage.commit(0)
    assert one.value("windows_released_total", policy="feeder")
    assert exposed(one) == exposed(other)


def test_late_readings_are_said_at_once_and_then_once_an_hour() -> None:
    now = [1000.0]
    monitor = Monitor(config(), wall=lambda: now[0])
    said = []
    for after in (0, 10, 3590, 5, 7200):
        now[0] += after
        with capture_logs() as lines:
            monitor.tell(BatchTaken(0, 9, 7, 2, 0, 0, {}))
        said += [line["readings"] for line in lines if line["event"] == "readings came late"]
    assert said == [2, 4, 4]
    assert monitor.recent.late(now[0]) == 2
    assert not monitor.recent.mostly_late(now[0])


def test_that_most_readings_come_late_is_said_with_what_to_set() -> None:
    now = [1000.0]
    monitor = Monitor(config(), wall=lambda: now[0])
    said = []
    for accepted, late in ((5, 5), (1, 9), (2, 1), (0, 1)):
        with capture_logs() as lines:
            monitor.tell(BatchTaken(0, 9, accepted, late, 0, 0, {}))
        said += [line["event"] for line in lines if line["log_level"] == "warning"]
        now[0] += 1800
    assert said == ["readings came late", "most readings came late: should delay be set?"]
    assert monitor.recent.mostly_late(4600)
    assert not monitor.recent.mostly_late(6400)
