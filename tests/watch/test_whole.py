"""Several processes, shown as one: sums where counts are, the worst where the worst counts."""

from __future__ import annotations

import json
import os
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.parser import text_string_to_metric_families

from meteragent.stream.partition import State
from meteragent.watch.events import PartitionFailed, PartitionMoved
from meteragent.watch.families import COUNTED, FamiliesTold, Whole, is_ruled, plain
from meteragent.watch.http_message import Request
from meteragent.watch.kept_counts import KeptCounts
from meteragent.watch.metrics import Monitor
from meteragent.watch.status import Status
from meteragent.watch.whole import AsOne, Nobody
from tests.given import KEY
from tests.watch.stage import BEGIN, MINUTE, Stage, block, config

if TYPE_CHECKING:
    from collections.abc import Iterator


class Several:
    """Processes whose reports are given."""

    ready = alive = True
    sentence = ("running", "Running: 2 of 2 processes.")

    def __init__(self, *reports: tuple[dict[str, Any], bool]) -> None:
        self._reports = reports

    def reports(self) -> list[tuple[dict[str, Any], bool]]:
        return list(self._reports)

    def mishaps(self) -> list[dict[str, Any]]:
        return [{"at": 1.0, "where": "process 1", "error": "signal 9", "place": ""}]


def told(stage: Stage) -> dict[str, Any]:
    """As it comes over the line."""
    status = Status(stage.settings, stage.monitor, stage, wall=lambda: stage.now)
    report: dict[str, Any] = json.loads(json.dumps(status.report()))
    return report


def together(*reports: tuple[dict[str, Any], bool]) -> AsOne:
    own = CollectorRegistry()
    Gauge("meteragent_ready", "As the whole is.", registry=own).set(1)
    settings, nobody = config(), Nobody(KEY.fingerprint)
    monitor = Monitor(settings, wall=lambda: BEGIN / 1000)
    monitor.watch(nobody)
    status = Status(settings, monitor, nobody, wall=lambda: BEGIN / 1000)
    return AsOne(status, Several(*reports), own)


def scraped(whole: AsOne) -> dict[tuple[str, ...], float]:
    body = whole.pages()["/metrics"].answer(Request("GET", "/metrics", {})).body
    return {
        (sample.name.removeprefix("meteragent_"), *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(body.decode())
        for sample in family.samples
    }


def worked(minutes: int, meter: str) -> Stage:
    """An agent with one partition that has closed some windows of one meter."""
    stage = Stage(config())
    for minute in range(minutes):
        stage.now = (BEGIN + (minute + 1) * MINUTE) / 1000
        stage.read(0, [block(meter, minute, [1] * 6), b"?"])
        stage.commit(0)
    return stage


def test_two_are_shown_as_the_sum_of_both() -> None:
    one, other = worked(5, "m"), worked(3, "n")
    other.ready = False
    other.monitor.tell(PartitionMoved(0, State.LOST))
    other.start(1)
    whole = together((told(one), True), (told(other), True))
    found, document = scraped(whole), whole.document()
    assert found["records_total",] == 16
    assert found["rejects_total", "not_json"] == 8
    assert found["windows_closed_total", "household"] == 4 + 2
    assert found["release_delay_seconds_count", "household"] == 6
    assert found["release_delay_seconds_bucket", "+Inf", "household"] == 6
    assert found["meters", "household"] == 2
    assert found["partitions", "running"] == 2
    assert found["budget_remaining_ratio_gcount", "household"] == 2
    assert found["policy_budget_epsilon", "household"] == pytest.approx(9)
    assert found["key_info", KEY.fingerprint] == 1
    assert found["ready",] == 1  # of the whole, whatever its parts say
    household = document["policies"][0]
    assert household["windows"]["closed"] == 6
    assert household["meters"] == 2
    assert sum(household["tenths"]) == 2
    assert document["rejects"] == {"not_json": 8}
    assert [row["partition"] for row in document["partitions"]] == [0, 1]
    assert document["state"] == {"word": "running", "sentence": "Running: 2 of 2 processes."}
    assert document["errors"] == Several().mishaps()


def test_of_one_that_ended_the_counts_stay_and_all_else_goes() -> None:
    one, other = worked(5, "m"), worked(3, "n")
    whole = together((told(one), True), (told(other), False))
    found, document = scraped(whole), whole.document()
    assert found["windows_closed_total", "household"] == 6
    assert found["meters", "household"] == 1
    assert found["partitions", "running"] == 1
    assert document["policies"][0]["windows"]["closed"] == 6
    assert document["policies"][0]["meters"] == 1
    assert len(document["partitions"]) == 1


def test_before_any_process_has_told_of_itself_every_series_is_there() -> None:
    before, after = scraped(together()), scraped(together((told(worked(2, "m")), True)))
    gone = {key[0] for key in before} - {key[0] for key in after}
    assert not gone
    assert before["windows_closed_total", "household"] == 0
    assert before["partitions", "running"] == 0


def test_whoever_is_worst_off_speaks_for_all() -> None:
    def part(value: float) -> FamiliesTold:
        registry = CollectorRegistry()
        for name in ("standstill_seconds", "clock_trusted", "windows_open"):
            Gauge(f"meteragent_{name}", "Told.", registry=registry).set(value)
        return FamiliesTold(plain(registry))

    families = Whole([part(1), part(3), part(2)], CollectorRegistry()).collect()
    assert {f.name.removeprefix("meteragent_"): f.samples[0].value for f in families} == {
        "standstill_seconds": 3,
        "clock_trusted": 1,
        "windows_open": 6,
    }


def test_every_gauge_has_its_rule() -> None:
    stage = worked(2, "m")
    ProcessCollector(registry=stage.monitor.series.registry)
    families = stage.monitor.series.everything().collect()
    unruled = [f.name for f in families if f.type not in {*COUNTED, "info"}]
    assert len(unruled) > 20
    assert [name for name in unruled if not is_ruled(name)] == []


def test_counts_go_on_where_a_process_was_killed_and_gauges_do_not(memory: int) -> None:
    found = []
    for _ in range(2):
        with closing(KeptCounts(memory)) as kept:
            for work, more in (("meters", 1), ("groups", 10)):
                registry = CollectorRegistry()
                with kept.of(work):
                    counter = Counter("some", "Some.", ["which"], registry=registry)
                    histogram = Histogram("took", "Took.", registry=registry)
                    gauge = Gauge("stood", "Stood.", registry=registry)
                    counter.labels("one")
                counter.labels("one").inc(more)
                histogram.observe(0.3)
                value = registry.get_sample_value
                of_one = value("some_total", {"which": "one"})
                found.append([of_one, value("took_bucket", {"le": "0.5"}), value("stood")])
                gauge.set(7)
    assert found == [[1, 1, 0], [10, 1, 0], [2, 2, 0], [20, 2, 0]]


def test_an_agent_goes_on_counting_where_the_one_before_was_killed(
    memory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every series is there from the start: a later one would not know of whose work it is."""

    def none(*_: object, **__: object) -> object:
        raise AssertionError("a series that was not there from the start")

    for lives in (1, 2):
        with closing(KeptCounts(memory)) as kept:
            with kept.of("meters"):
                stage = Stage(config())
            with monkeypatch.context() as late:
                late.setattr("prometheus_client.values.ValueClass", none)
                for minute in range(4):
                    stage.now = (BEGIN + (minute + 1) * MINUTE) / 1000
                    stage.read(0, [block("m", minute, [1] * 6), b"?"])
                    stage.commit(0)
                stage.monitor.tell(PartitionFailed(0, OSError(), 1))
            assert stage.value("windows_closed_total", policy="household") == 3 * lives
            assert stage.value("failures_total", where="partition", kind="system") == lives
            assert stage.value("partitions", state="running") == 1
            totals = stage.monitor.series.totals("household")
            assert totals["windows"]["closed"] == 3 * lives


@pytest.fixture
def memory() -> Iterator[int]:
    """Where counts are kept."""
    descriptor = os.memfd_create("counts")
    yield descriptor
    os.close(descriptor)
