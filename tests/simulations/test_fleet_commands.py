"""The commands that measure the agent on Kafka run, and say what they measured."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from simulations.drain import Drained, middle, ratio
from simulations.fleet import __main__ as fleet
from simulations.fleet.load import count
from simulations.fleet.traffic import BAD, CALM, Fleet, Trouble, portions
from simulations.local_kafka import Broker, running
from simulations.peers import answers, contenders, kafka, targets
from simulations.processes import processor_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BEGIN = 1_763_424_000_000
Record = tuple[bytes, bytes, int]


def records(fleet: Fleet) -> list[Record]:
    return [
        record
        for partition in range(fleet.partitions)
        for portion in portions(fleet, partition)
        for record in portion.records(fleet)
    ]


def test_a_calm_fleet_sends_every_reading_once_in_the_order_of_sending() -> None:
    calm = Fleet(10, 7, BEGIN, partitions=1, trouble=CALM)
    sent = records(calm)
    documents = [json.loads(value) for _, value, _ in sent]
    assert Counter(document["meter_id"] for document in documents) == {
        f"meter-{number:07d}": 7 for number in range(10)
    }
    assert [document["meter_id"].encode() for document in documents] == [key for key, *_ in sent]
    assert all(one <= other for (*_, one), (*_, other) in pairwise(sent))
    assert all(BEGIN <= document["ts"] < calm.end for document in documents)


def test_a_block_holds_what_as_many_readings_would() -> None:
    sent = records(Fleet(5, 90, BEGIN, block=30, trouble=CALM))
    assert {len(json.loads(value)["values"]) for _, value, _ in sent} == {30}
    assert len(sent) == 15


def test_the_same_seed_makes_the_same_fleet_and_another_one_another() -> None:
    once = records(Fleet(20, 30, BEGIN, partitions=3))
    assert once == records(Fleet(20, 30, BEGIN, partitions=3))
    assert once != records(Fleet(20, 30, BEGIN, partitions=3, seed=2))


def test_trouble_comes_as_often_as_it_is_asked_for() -> None:
    troubled = Fleet(200, 100, BEGIN, trouble=Trouble(gap=0.1, twice=0.1, late=0.1, bad=0.1))
    sent = records(troubled)
    bad = [value for _, value, _ in sent if value in BAD]
    good = Counter(value for _, value, _ in sent if value not in BAD)
    assert len(good) == pytest.approx(18_000, rel=0.05)
    assert sum(times == 2 for times in good.values()) == pytest.approx(1_800, rel=0.2)
    assert len(bad) == pytest.approx(1_980, rel=0.2)
    assert set(bad) == set(BAD)
    late = [1 for _, value, at in sent if value in good and at - json.loads(value)["ts"] >= 60_000]
    assert len(late) == pytest.approx(1_980, rel=0.2)


def test_groups_are_measured_until_one_of_their_windows_is_over(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert fleet.main(["groups", "--meters", "400", "--steps", "125", "--rounds", "1"]) == 0
    head, *_, late = capsys.readouterr().out.splitlines()
    assert "402 releases" in head
    assert "s of groups" in late


def test_readings_that_close_no_window_of_groups_are_too_few(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        fleet.main(["groups", "--meters", "1000000", "--steps", "97"])
    assert "no window of groups is over after 97: 125 at least" in capsys.readouterr().err


def drained(rate: float) -> Drained:
    return Drained(rate, 1.0, 1.0, 0.0, 0.0, 0)


def test_ratios_are_medians_of_rounds() -> None:
    ones = [drained(rate) for rate in (10, 30, 20)]
    assert middle(ones).per_processor_second == 20
    assert ratio(ones, [drained(10)] * 3) == 2


def test_a_missed_target_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    rates = {"meteragent": [drained(59)], "bare, pydantic": [drained(100)]}
    assert not targets.judge(rates)
    assert "MISSED" in capsys.readouterr().out
    assert targets.judge({**rates, "meteragent": [drained(61)]})


def test_some_targets_are_to_be_met_by_the_clock_as_well() -> None:
    quick, by_clock = drained(600), replace(drained(600), seconds=2.0)
    assert targets.judge({"meteragent": [quick], contenders.OLDER: [drained(100)]})
    assert not targets.judge({"meteragent": [by_clock], contenders.OLDER: [drained(100)]})
    assert targets.judge({"meteragent": [by_clock], "Faust": [drained(59)]})


def test_what_an_older_version_did_not_know_is_left_out_of_its_configuration(
    tmp_path: Path,
) -> None:
    toml = '[kafka]\ngroup = "g"\ntrust_timestamps = true\ninput = "i"\n'
    module = tmp_path / "meteragent" / "config.py"
    module.parent.mkdir()
    module.write_text("group: str")
    assert "trust" not in contenders.as_known_to(tmp_path, toml)
    assert len(contenders.as_known_to(tmp_path, toml).splitlines()) == 3
    module.write_text("trust_timestamps: bool")
    assert contenders.as_known_to(tmp_path, toml) == toml


def test_peers_are_held_to_the_means_of_what_was_sent() -> None:
    fleet = Fleet(3, 270, kafka.BEGIN, partitions=2, trouble=kafka.TROUBLE)
    documents = [json.loads(value) for _, value, _ in records(fleet)]
    sums: dict[tuple[str, int], list[float]] = {}
    for one in documents:
        sums.setdefault((one["meter_id"], one["ts"] // 900_000), []).append(one["value"])
    told = [(meter, sum(some) / len(some)) for (meter, _), some in sorted(sums.items())]
    first_two = [one for nth, one in enumerate(told) if nth % 3 < 2]
    assert answers.judge(fleet, told).good
    assert answers.judge(fleet, first_two).good
    assert answers.judge(fleet, [*told, told[0]]).wrong == 1  # told twice
    assert answers.judge(fleet, told[1:]).skipped == 1
    assert answers.judge(fleet, [(m, v + 0.01) for m, v in told]).wrong == len(told)
    assert not answers.judge(fleet, []).good


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with running() as one:
        yield one


@pytest.mark.integration
def test_a_topic_is_filled(broker: Broker, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["load", broker.bootstrap, "filled", "--meters", "50", "--steps", "20"]
    assert fleet.main([*given, "--partitions", "3"]) == 0
    sent = asyncio.run(count(broker.bootstrap, "filled", 3))
    assert f"{sent:,} records" in capsys.readouterr().out
    assert sent == pytest.approx(1000, rel=0.05)
    assert processor_seconds(broker.pid) > 0


@pytest.mark.integration
def test_the_agent_is_measured_from_end_to_end(
    broker: Broker, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fleet.main(["measure", "--quick", "--bootstrap", broker.bootstrap]) == 0
    assert "times as fast as one" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.integration
def test_an_agent_that_was_killed_late_in_a_day_is_watched_until_it_has_caught_up(
    broker: Broker, tmp_path: Path
) -> None:
    file = tmp_path / "restart.json"
    given = ["restart", "--quick", "--json", str(file), "--bootstrap", broker.bootstrap]
    assert fleet.main(given) == 0
    [found] = json.loads(file.read_text())
    assert 0 < found["read_again"] <= found["foreseen"]
    assert found["ready"] <= found["caught_up"]


@pytest.mark.integration
def test_delays_are_measured(broker: Broker, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--rate", "200", "--seconds", "20", "--lead", "1", "--commit-interval", "100"]
    assert fleet.main(["delay", *given, "--groups", "--bootstrap", broker.bootstrap]) == 0
    of_meters, of_groups = capsys.readouterr().out.splitlines()[-2:]
    assert "p99" in of_meters
    assert "times a meter's" in of_groups


def test_stages_are_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert fleet.main(["stages", "--quick", "--readings", "1000", "--rounds", "1"]) == 0
    assert "microseconds" in capsys.readouterr().out


def test_what_many_policies_cost_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--meters", "200", "--steps", "3", "--rounds", "1"]
    assert fleet.main(["policies", *given]) == 0
    assert capsys.readouterr().out.count(" 100 ") >= 1


@pytest.mark.integration
def test_the_agent_and_its_variants_drain_the_same_topic(broker: Broker, tmp_path: Path) -> None:
    field = kafka.Field(broker, tmp_path, 50, 4, 30)
    kafka.fill_topics(field, [kafka.READINGS, kafka.BLOCKS])
    for one in (contenders.AGENT, contenders.AT_LEAST_ONCE, contenders.EXACT):
        assert kafka.ours(field, kafka.READINGS, one).readings > 0
    assert kafka.bare(field, kafka.BLOCKS, "each").readings > 0


def test_what_a_meter_takes_is_printed_by_preset(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "memory.json"
    given = ["memory", "--preset", "tv-content", "--interval", "1m", "--meters", "2000"]
    assert fleet.main([*given, "--json", str(file)]) == 0
    [row] = json.loads(file.read_text())
    assert 100 < row["reported"] < 500  # of so few meters nothing else can be told
    assert f"{row['reported']:,}" in capsys.readouterr().out


def test_days_are_measured_beside_quarters_of_an_hour(capsys: pytest.CaptureFixture[str]) -> None:
    assert fleet.main(["days", "--meters", "4", "--hours", "2", "--rounds", "1"]) == 0
    said = capsys.readouterr().out
    assert said.count("windows of a day") == said.count("windows of a quarter of an hour") == 2
    assert said.count("times the throughput") == 2


def test_meters_are_placed_and_shares_that_are_unfair_are_missed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    some = ["placement", "--meters", "20000", "--check"]
    assert fleet.main(some) == 0
    assert "all targets met" in capsys.readouterr().out
    assert fleet.main([*some, "--partitions", "6"]) == 1  # two, two, one and one
    assert fleet.main([*some, "--interval", "0.01"]) == 1  # two million readings a second
    assert "a target is missed" in capsys.readouterr().out
