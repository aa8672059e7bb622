"""The group's coordinator: takes all partitions from everybody, and deals them out anew."""

import asyncio
from asyncio import Task
from collections.abc import Coroutine
from typing import Any, Protocol

from aiokafka import TopicPartition

from tests.schedules.network import Network

PATIENCE = 2.0
"""Seconds that members have to give their partitions up."""


class Member(Protocol):
    """A consumer of the group."""

    home: str

    async def give_up(self) -> None:
        """Let all partitions go."""

    async def receive(self, sources: list[TopicPartition]) -> None:
        """Go on with these."""


class Members:
    """Who is in the group.

    A member that does not notice in time, because it is frozen, slow or unlucky, goes on with
    what it had: a zombie. So does one that nobody told that it was expelled.
    """

    def __init__(self, network: Network, topic: str, partitions: int) -> None:
        self._network = network
        self._loop = network.loop
        self.sources = [TopicPartition(topic, number) for number in range(partitions)]
        self._members: dict[int, Member] = {}
        self._last: dict[int, Task[None]] = {}
        self._again = False
        self.rebalancing = False

    def join(self, member: Member) -> None:
        """Take part, from the next rebalance on."""
        self._members[id(member)] = member
        self.rebalance()

    def leave(self, member: Member) -> None:
        """Take part no more."""
        if self._members.pop(id(member), None) is not None:
            self.rebalance()

    def bury(self, home: str) -> None:
        """Its heartbeats have stopped."""
        for member in [m for m in self._members.values() if m.home == home]:
            self.leave(member)

    def rebalance(self) -> None:
        """Begin to, once what is under way has ended."""
        self._again = True
        if not self.rebalancing:
            self.rebalancing = True
            self._loop.spawn(self._rebalance())

    async def _rebalance(self) -> None:
        while self._again:
            self._again = False
            await asyncio.sleep(0.3 * self._loop.random.random())
            await self._deal()
        self.rebalancing = False

    async def _deal(self) -> None:
        random = self._loop.random
        awake = [m for m in self._members.values() if not self._network.chance(0.2)]
        left = [self._order(m, m.give_up()) for m in awake]
        if left:
            _, late = await asyncio.wait(left, timeout=PATIENCE)
            for task in late:
                task.add_done_callback(lambda _: self.rebalance())  # it comes back
        here = [m for m, task in zip(awake, left, strict=True) if task.done()]
        here = [m for m in here if id(m) in self._members]
        self._loop.say("group", f"deals to {[m.home for m in here]}")
        turn = random.randrange(9)
        for nth, member in enumerate(here):
            mine = [s for s in self.sources if (s.partition + turn) % len(here) == nth]
            self._order(member, member.receive(mine))

    def _order(self, member: Member, work: Coroutine[Any, Any, None]) -> Task[None]:
        """Do it in a task of the member, after what it was asked before."""

        async def in_turn(before: Task[None] | None) -> None:
            if before is not None:
                await asyncio.wait([before])
            await work

        task = self._loop.spawn(in_turn(self._last.get(id(member))), member.home)
        self._last[id(member)] = task
        return task

    def __len__(self) -> int:
        return len(self._members)
