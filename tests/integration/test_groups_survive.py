"""Groups on a cluster in which instances are killed, frozen and joined, and brokers are lost.

Their releases are those of one file that holds all readings, to the byte: none is missing, and
none is there twice.
"""

from __future__ import annotations

import asyncio
import signal
from random import Random
from typing import TYPE_CHECKING

import pytest

from tests.integration.fleet import QUICK
from tests.integration.street import Street, by_group, closing, day, soon

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from tests.integration.local_broker import Broker

pytestmark = [pytest.mark.integration, pytest.mark.slow]

PARTITIONS = 6
HOURS = 8
ROUNDS = 8
LONGER_THAN_A_SESSION = 4.0
"""Seconds: who stands still for so long is taken for dead."""


class Storm:
    """What goes wrong, one thing after the other."""

    def __init__(self, street: Street, broker: Broker, seed: int) -> None:
        self.street, self.broker, self.draw = street, broker, Random(seed)

    def troubles(self) -> list[Callable[[], Awaitable[None]]]:
        """Each of them at least once, in an order that is drawn."""
        every = [self.kill, self.kill, self.freeze, self.join, self.lose_a_broker]
        more = self.draw.choices(every, k=ROUNDS - len(every))
        return self.draw.sample([*every, *more], ROUNDS)

    async def kill(self) -> None:
        """As SIGKILL does; somebody takes the place."""
        victim = self.draw.choice(self.street.running())
        victim.signal(signal.SIGKILL)
        await victim.ended()
        await self.street.start()

    async def freeze(self) -> None:
        """Somebody stands still until others have what was its own, and then goes on."""
        sleeper = self.draw.choice(self.street.running())
        sleeper.signal(signal.SIGSTOP)
        try:
            await asyncio.sleep(LONGER_THAN_A_SESSION)
        finally:
            sleeper.signal(signal.SIGCONT)

    async def join(self) -> None:
        """One more; what all have is dealt out anew."""
        await self.street.start()

    async def lose_a_broker(self) -> None:
        """It comes back."""
        node = self.draw.choice(("1", "2", "3"))
        await asyncio.to_thread(self.broker, "kill", node)
        await asyncio.sleep(self.draw.uniform(1, 4))
        await asyncio.to_thread(self.broker, "restart", node)


async def stormy(street: Street, storm: Storm, lines: list[bytes]) -> None:
    """Readings come, while things go wrong."""
    for _ in range(2):
        await (await street.start()).says("partition state changed", 120, state="running")
    size = -(-len(lines) // ROUNDS)
    for nth, trouble in enumerate(storm.troubles()):
        some = lines[nth * size : (nth + 1) * size]
        producing = asyncio.create_task(street.produce(some))
        await asyncio.sleep(storm.draw.uniform(0, 2))
        await trouble()
        await producing


@pytest.mark.parametrize("seed", range(1, 5))
def test_whatever_fails_groups_are_released_as_of_one_file(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.chdir(tmp_path)

    async def scenario() -> None:
        started = await asyncio.to_thread(broker, "start", "--brokers", "3", *QUICK)
        street, begin = Street(tmp_path, started["bootstrap"], PARTITIONS), soon()
        try:
            await street.prepare()
            lines, ends = day(begin, seed, HOURS), closing(begin, PARTITIONS)
            expected = await street.as_of_one_file([*lines, *ends])
            await stormy(street, Storm(street, broker, seed), lines)
            await street.produce(ends)
            found = await street.published(len(expected), 180)
            assert by_group(found) == by_group(expected)
            await street.stop()
        finally:
            await street.kill()

    asyncio.run(scenario())
