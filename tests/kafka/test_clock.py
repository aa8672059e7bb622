"""The brokers' time is never taken for later than it is, and a difference is said, and only one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meteragent.kafka.clock import EVERY_SECONDS, FRESH_SECONDS, BrokersClock, LastFetch
from meteragent.watch.events import ClockCompared, ClockFailed
from tests.schedules.clients import ModelClients
from tests.schedules.kafka_model import Kafka
from tests.schedules.loop import Loop
from tests.schedules.members import Members
from tests.schedules.network import Network
from tests.schedules.world import PARTITIONS, START, world

if TYPE_CHECKING:
    from meteragent.watch.events import Occurrence

HOUR = 3600
SKEW = 60
"""`agent.max_skew` of a world, in seconds."""


class Machine:
    """An agent's clock, brokers that are asked for the time, and a network that takes its time."""

    def __init__(self, seed: int) -> None:
        self.loop = Loop(seed)
        self.ahead = 0.0
        """Of this machine."""
        self.leap = 0.0
        """By which somebody has set the brokers' clocks forward."""
        self.ours = True
        self.told: list[Occurrence] = []
        self.refused: list[Exception] = []
        config = world(0).config
        self.network = Network(self.loop, Kafka(), lambda: int(1000 * self.time()))
        members = Members(self.network, config.kafka.input, PARTITIONS)
        clients = ModelClients(config.kafka, self.network, members)
        self.clock = BrokersClock(config, self.told.append, clients, self.loop.time, self._wall)
        self.ledger = self.network.kafka.log((config.kafka.ledger, 0)).entries
        self._sources = members.sources

    def time(self) -> float:
        """The brokers'."""
        return START / 1000 + self.loop.now + self.leap

    def _wall(self) -> float:
        return START / 1000 + self.loop.now + self.ahead

    async def run(self) -> None:
        await self.clock.run(lambda: self._sources if self.ours else (), self.refused.append)

    def runs(self, *changes: tuple[float, str, float]) -> None:
        """Change something each time after so many seconds; then come to the end."""

        async def scenario() -> None:
            running = asyncio.create_task(self.run())
            for seconds, name, value in changes:
                await asyncio.sleep(seconds)
                setattr(self, name, value)
            running.cancel()
            await asyncio.wait({running})

        self.loop.run(scenario())

    @property
    def compared(self) -> list[ClockCompared]:
        return [event for event in self.told if isinstance(event, ClockCompared)]


@pytest.mark.parametrize("seed", range(30))
def test_the_time_is_never_later_than_the_brokers(seed: int) -> None:
    machine, found = Machine(seed), list[float]()
    past: list[tuple[float, float]] = []

    def look() -> None:
        now = machine.loop.now
        past.append((now, machine.time()))
        for moment, time in past[-1], machine.loop.random.choice(past[-400:]):
            if (said := machine.clock.at(moment)) is not None:
                assert said <= 1000 * time
                found.append(time - said / 1000)

    machine.loop.after = look
    machine.runs((20, "leap", 5.0), (20, "leap", 20.0), (20, "leap", 20.0))
    assert len(found) > 20
    assert min(found) < 1


@pytest.mark.parametrize("ahead", [HOUR, -HOUR, SKEW + 7, -SKEW - 7])
def test_a_difference_is_said_once_and_again_when_it_changes_or_ends(ahead: int) -> None:
    machine = Machine(1)
    machine.runs(
        (10, "ahead", ahead), (30, "ahead", 3 * ahead), (30, "ahead", 0.0), (30, "leap", 0)
    )
    said = [event.ahead for event in machine.compared]
    assert [event.agrees for event in machine.compared] == [False, False, True]
    assert said == pytest.approx([ahead, 3 * ahead, 0], abs=3)
    assert abs(said[0]) <= abs(ahead)


def test_clocks_that_differ_close_no_windows() -> None:
    machine = Machine(1)
    machine.runs((10, "ahead", HOUR), (10, "leap", 0))
    assert machine.clock.at(machine.loop.now) is None
    assert machine.clock.seen().differs


@pytest.mark.parametrize("seed", range(10))
def test_a_slow_answer_is_no_difference(seed: int) -> None:
    """Though it takes longer than the clocks may differ."""
    machine = Machine(seed)
    machine.clock._most = 0.0015  # as exact as milliseconds allow
    machine.network.calm = True
    machine.runs((60, "leap", 0.0))
    assert machine.told == []
    assert machine.clock.trusted


def test_a_time_of_long_ago_is_not_trusted_and_failures_are_told() -> None:
    machine = Machine(3)
    machine.loop.call_later(10, machine.network.fall_silent, 40)
    until = 10 + FRESH_SECONDS + 6
    machine.runs((until, "leap", 0.0))
    assert machine.clock.at(machine.loop.now) is None
    assert machine.clock.seen().age > FRESH_SECONDS
    assert any(isinstance(event, ClockFailed) for event in machine.told)


def test_who_has_no_partition_asks_once() -> None:
    machine = Machine(1)
    machine.network.calm, machine.ours = True, False
    machine.runs((20, "ours", True), (20 * EVERY_SECONDS, "leap", 0.0))
    asked = [entry.key for entry in machine.ledger]
    assert set(asked) == {b"\x00clock"}
    assert 6 <= len(asked) <= 21


@given(st.lists(st.tuples(st.floats(0, 9), st.floats(0, 9), st.integers(0, 3)), min_size=1))
def test_an_answer_was_asked_for_after_the_moment_that_is_named(
    fetches: list[tuple[float, float, int]],
) -> None:
    """
    asked     1---.   2-------.     3-.        the next one goes out when an answer has come
    answered      1           2       3
    looked    .     .  .        .       .      and the answer that is there may be seen or missed
    """
    now, fetch, answer, asked = 0.0, LastFetch(), 0, -1.0
    fetch.look(None, now)
    for way, pause, looks in fetches:
        for _ in range(looks):
            now += pause / 4
            fetch.look(answer or None, now)
            assert fetch.asked_after is None or fetch.asked_after <= asked
        asked_next = now
        now += way
        answer, asked = answer + 1, asked_next
    fetch.look(answer, now)
    assert fetch.asked_after is None or fetch.asked_after <= asked


def test_the_moment_is_close_where_somebody_looks_often() -> None:
    fetch = LastFetch()
    for now in range(100):
        fetch.look(now // 2, float(now))
    assert fetch.asked_after == 95.0
