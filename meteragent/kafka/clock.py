"""What time it is for the brokers, whatever this machine believes.

Where nothing is left to read, the wall clock closes the windows of meters that are silent. One
that is an hour fast would close everybody's, and commit that it has. So it is the brokers', by
which readings are stamped too: once a second the agent appends a record to the ledger, a topic
of append times, and the acknowledgement says when that was. It came after that, never before:

    brokers' time at a moment  >=  append time + (moment - when the acknowledgement came)

Whatever was appended by a tick's time must have been fed. The end of a partition that a fetch
tells was looked up after its request was sent; how long the answer was under way, or waited for a
machine that stood still, nobody knows. So a tick's time is that of a moment before the request.

This machine's own clock is only compared: where the two differ, one of them is wrong, nobody
knows which, and readings alone close windows. The record has a key that no meter can have, and
no value: compaction keeps the last one, and nobody takes it for an account.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import NamedTuple

from aiokafka import AIOKafkaProducer, TopicPartition

from meteragent.config import Config
from meteragent.errors import TopicsUnfit
from meteragent.kafka import fitness
from meteragent.kafka.clients import Clients
from meteragent.kafka.rights import DENIED
from meteragent.process.loop import Clock
from meteragent.watch.events import ClockCompared, ClockFailed, Listener
from meteragent.watch.watched import Clocks

RECORD = b"\x00clock"
APPEND_TIME = 1
"""How aiokafka numbers timestamps that are the broker's word."""
EVERY_SECONDS = 1.0
PATIENCE_SECONDS = 5.0
LAST_RETRY_SECONDS = 5.0
FRESH_SECONDS = 10.0
"""Brokers may set their clocks: what they said longer ago says nothing."""
LEAST_SKEW_SECONDS = 1.0
"""Clocks that are kept by others never agree to the millisecond."""


class Learned(NamedTuple):
    """What an acknowledgement says."""

    moment: float
    """When it came."""
    time: int
    """When the record had been appended, in milliseconds since the epoch."""


class BrokersClock:
    """Asks for the time for as long as anything is ours."""

    def __init__(
        self, config: Config, tell: Listener, clients: Clients, clock: Clock, wall: Clock
    ) -> None:
        self._most = max(config.agent.max_skew / 1000, LEAST_SKEW_SECONDS)
        self._tell = tell
        self._clients = clients
        self._now = clock
        self._wall = wall
        self._begun = clock()
        self._learned: Learned | None = None
        self._before: Learned | None = None
        self._ahead = 0.0
        self._said = 0.0
        """By how much this machine's clock was ahead when that was last said."""
        self._differs = False
        self._failures = 0

    def at(self, moment: float) -> int | None:
        """The brokers' time at a moment, or earlier; None if they, or we, are not to be trusted.

        It follows from what they had said by then: they may have set their clocks since.
        """
        for said in (self._learned, self._before):
            if self.trusted and said is not None and said.moment <= moment:
                return int(said.time + (moment - said.moment) * 1000)
        return None

    @property
    def trusted(self) -> bool:
        """Whether the brokers' time is known, and this machine's agrees."""
        return self._age < FRESH_SECONDS and self._learned is not None and not self._differs

    def seen(self) -> Clocks:
        """How the two clocks stand."""
        return Clocks(self._ahead, self._age, differs=self._differs, trusted=self.trusted)

    @property
    def _age(self) -> float:
        return self._now() - (self._begun if self._learned is None else self._learned.moment)

    async def run(
        self,
        ours: Callable[[], Iterable[TopicPartition]],
        refused: Callable[[Exception], None],
    ) -> None:
        """Ask once a second until cancelled; `refused` is told of a right that is missing.

        Whatever fails, the producer is thrown away and made anew.
        """
        while True:
            try:
                await self._follow(ours)
            except (Exception, asyncio.CancelledError) as error:
                task = asyncio.current_task()
                if isinstance(error, asyncio.CancelledError) and task and task.cancelling():
                    raise
                if isinstance(error, DENIED):
                    refused(error)
                self._failures += 1
                retry_in = min(
                    EVERY_SECONDS * (1 << min(self._failures - 1, 10)), LAST_RETRY_SECONDS
                )
                self._tell(ClockFailed(error, retry_in))
                await asyncio.sleep(retry_in)

    async def _follow(self, ours: Callable[[], Iterable[TopicPartition]]) -> None:
        producer = self._clients.producer(None)
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await producer.start()
            while True:
                partitions = [source.partition for source in ours()]
                if partitions or self._learned is None:
                    async with asyncio.timeout(PATIENCE_SECONDS):
                        await self._ask(producer, min(partitions, default=0))
                await asyncio.sleep(EVERY_SECONDS)
        finally:
            await self._clients.close(producer)

    async def _ask(self, producer: AIOKafkaProducer, partition: int) -> None:
        kafka = self._clients.kafka
        before = self._wall()
        written = await producer.send_and_wait(kafka.ledger, None, key=RECORD, partition=partition)
        moment, after = self._now(), self._wall()
        if written.timestamp_type != APPEND_TIME:
            raise TopicsUnfit([fitness.unstamped_ledger(kafka)])
        self._learned, self._before = Learned(moment, written.timestamp), self._learned
        self._failures = 0
        self._compare(before - written.timestamp / 1000, after - written.timestamp / 1000)

    def _compare(self, least: float, most: float) -> None:
        """Note by how much this machine's clock is ahead at least; it is between the two."""
        self._ahead = least if least > 0 else min(most, 0.0)
        differs = abs(self._ahead) > self._most
        moved = abs(self._ahead - self._said) > self._most
        if differs != self._differs or (differs and moved):
            self._said = self._ahead
            self._tell(ClockCompared(self._ahead, self._most))
        self._differs = differs


class LastFetch:
    """Since when at the earliest the last answer to a fetch of a partition had been asked for.

    A request goes out after the answer to the one before it. So does the one that follows an
    answer which had not come yet when somebody looked.
    """

    def __init__(self) -> None:
        self.asked_after: float | None = None
        self._answer: object = None
        self._came_after: float | None = None
        self._looked: float | None = None

    def look(self, answer: object, now: float) -> None:
        """Note which answer there is now: something that differs from one to the next."""
        if answer != self._answer:
            self.asked_after, self._came_after = self._came_after, self._looked
            self._answer = answer
        self._looked = now
