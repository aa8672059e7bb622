"""An instance starts over for as long as that helps, waits longer each time, and heeds an end."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

from meteragent.errors import BrokerRefused, BrokerUnreachable
from meteragent.process import instance
from meteragent.process.instance import SIGNALS, Instance
from meteragent.watch.events import AgentFailed, Occurrence
from tests.given import KEY
from tests.schedules.loop import Loop
from tests.schedules.world import world

if TYPE_CHECKING:
    from meteragent.process.loop import Clock

CONFIG = world(0).config


class Worn(Instance):
    """Works for so many seconds, again and again, and then fails in this way."""

    def __init__(self, clock: Clock, lasts: list[float], error: Exception | None = None) -> None:
        self.told: list[Occurrence] = []
        super().__init__(CONFIG, KEY, self.told.append, clock, clock)
        self.lasts = lasts
        self.begun: list[float] = []
        self.error = error or BrokerUnreachable("here:1", "closed")

    async def work(self) -> None:
        await self._again_and_again(self._once, BrokerUnreachable, BrokerRefused)

    async def _once(self) -> None:
        self.begun.append(self._now())
        if len(self.begun) > len(self.lasts):
            self.stop()
            return
        await asyncio.sleep(self.lasts[len(self.begun) - 1])
        raise self.error


def test_it_waits_twice_as_long_after_each_failure_up_to_a_limit() -> None:
    loop = Loop(0)
    worn = Worn(loop.time, [0.0] * 8)
    loop.run(worn.run())
    waited = [event.retry_in for event in worn.told if isinstance(event, AgentFailed)]
    assert waited == [0.5, 1, 2, 4, 8, 15, 15, 15]
    between = [after - before for before, after in zip(worn.begun, worn.begun[1:], strict=False)]
    assert between == pytest.approx(waited, abs=0.1)


def test_what_went_well_for_a_while_is_not_held_against_it() -> None:
    loop = Loop(0)
    worn = Worn(loop.time, [0.0, 0.0, 15.1, 0.0])
    loop.run(worn.run())
    waited = [event.retry_in for event in worn.told if isinstance(event, AgentFailed)]
    assert waited == [0.5, 1, 0.5, 1]


def test_what_is_no_better_later_ends_it() -> None:
    loop = Loop(0)
    worn = Worn(loop.time, [0.0], BrokerRefused("here:1", "not you", "give another name"))
    with pytest.raises(BrokerRefused):
        loop.run(worn.run())
    assert not worn.told


def test_what_nobody_reckons_with_ends_it() -> None:
    loop = Loop(0)
    worn = Worn(loop.time, [0.0], ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        loop.run(worn.run())


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_the_wait_and_is_nobodys_afterwards(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a real loop: the signal is one of the system's, and nobody else's in this process."""
    monkeypatch.setattr(instance, "FIRST_RETRY_SECONDS", 15.0)
    worn = Worn(time.monotonic, [0.0] * 99)
    before = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
    signal.signal(number, before)

    async def scenario() -> float:
        running = asyncio.ensure_future(worn.run())
        await asyncio.sleep(0.01)  # it has failed by then, and waits for a quarter of a minute
        os.kill(os.getpid(), number)
        begun = time.monotonic()
        await running
        return time.monotonic() - begun

    assert asyncio.run(scenario()) < 10
    assert worn.stopping
    assert len(worn.begun) == 1
    assert signal.getsignal(number) == before


def test_it_tells_whether_it_gets_on() -> None:
    loop = Loop(0)
    worn = Worn(loop.time, [CONFIG.agent.progress_deadline / 1000 + 1])

    told: list[bool] = []

    async def scenario() -> None:
        running = asyncio.ensure_future(worn.run())
        await asyncio.sleep(worn.lasts[0] - 2)
        told.append(worn.alive)
        await asyncio.sleep(1.5)
        told.append(worn.alive)
        await running

    loop.run(scenario())
    assert told == [True, False]
