"""Who is in which group, read from its topic: the whole of it, and again when it has grown."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from meteragent.config import Config
from meteragent.errors import MeterAgentError
from meteragent.formats.member_records import MemberRecords, NotTaken, following, record
from meteragent.kafka.clients import Clients
from meteragent.kafka.outbox import Record, send
from meteragent.privacy.members import ALWAYS, MemberPlan, Membership
from meteragent.stream.meters import longest_prefix, normal

LOOK_SECONDS = 10.0
"""How often somebody looks whether the topic has grown: far less than the lead of its records."""


SLACK = 300_000
"""Milliseconds: records are written later than somebody has begun to write."""


class MembersTold(NamedTuple):
    """What the topic tells."""

    memberships: list[Membership]
    homes: int
    """Of how many homes anything is said."""
    damaged: int
    """Records that are no list of groups ..."""
    too_soon: int
    """... and that would have changed what has begun."""


class MembersChanged(MeterAgentError):
    """Somebody else is in a group than was known: whoever works on groups begins anew."""

    retriable: ClassVar[bool] = True

    def __init__(self, topic: str) -> None:
        super().__init__(f"{topic}: members of groups have changed")


@dataclass
class MembersTopic:
    """The topic, as somebody goes on reading it."""

    config: Config
    clients: Clients
    _ends: dict[TopicPartition, int] = field(default_factory=dict)

    async def read(self) -> MembersTold:
        """All that it tells now."""
        kafka = self.config.kafka
        reader = self.clients.consumer()
        try:
            await reader.start()
            sources = await self._sources(reader)
            reader.assign(sources)
            await reader.seek_to_beginning(*sources)
            records = MemberRecords(kafka.groups_lead)
            counts = dict.fromkeys(NotTaken, 0)
            ends: dict[TopicPartition, int | None] = dict.fromkeys(sources)
            while not await _are_read(reader, ends):
                for source, its in (await reader.getmany(timeout_ms=100)).items():
                    for one in its:
                        reason = records.take(one.key, one.value, one.timestamp)
                        if reason is not None:
                            counts[reason] += 1
                    ends[source] = reader.highwater(source)
                for source in sources:
                    ends[source] = reader.highwater(source)
            self._ends = {source: end or 0 for source, end in ends.items()}
            refused = counts[NotTaken.DAMAGED], counts[NotTaken.TOO_SOON]
            return MembersTold(records.members(), records.homes, *refused)
        finally:
            await self.clients.close(reader)

    async def _sources(self, reader: AIOKafkaConsumer) -> list[TopicPartition]:
        topic = self.config.kafka.groups
        await reader._client.force_metadata_update()  # noqa: SLF001 - no public way
        partitions = reader.partitions_for_topic(topic) or set()
        return [TopicPartition(topic, partition) for partition in sorted(partitions)]

    async def watch(self, known: Sequence[Membership]) -> MembersChanged:
        """Look again and again, until somebody else is in a group than is known; answer that.

        Whatever brokers do meanwhile: nobody else would notice.
        """
        seen, reader = dict(self._ends), None
        try:
            while True:
                await asyncio.sleep(LOOK_SECONDS)
                with suppress(KafkaError, OSError):
                    reader = reader or await self._begun()
                    now = await reader.end_offsets([*self._ends])
                    if now == seen and now != self._ends:  # and nobody is writing any more
                        told = await self.read()
                        if told.memberships != known:
                            return MembersChanged(self.config.kafka.groups)
                    seen = now
        finally:
            if reader is not None:
                await self.clients.close(reader)

    async def _begun(self) -> AIOKafkaConsumer:
        reader = self.clients.consumer()
        try:
            await reader.start()
        except BaseException:
            await self.clients.close(reader)
            raise
        return reader


async def tell(
    config: Config, clients: Clients, wanted: Sequence[Membership], now: int
) -> tuple[int, int]:
    """Write what is wanted into the topic, as far as it is not there yet.

    Answer with how many homes that were, and from when on windows are as wanted.
    """
    kafka = config.kafka
    told = await MembersTopic(config, clients).read()
    frontier = now + kafka.groups_lead + SLACK if told.homes else ALWAYS  # nothing has begun yet
    found = following(told.memberships, wanted, frontier)
    producer = clients.producer(None)
    try:
        await producer.start()
        records = [Record(h.encode(), record(its)) for h, its in found.items()]
        await asyncio.gather(*await send(producer, kafka.groups, 0, records))
    finally:
        await clients.close(producer)
    return len(found), frontier


async def _are_read(reader: AIOKafkaConsumer, ends: dict[TopicPartition, int | None]) -> bool:
    return all([end is not None and await reader.position(s) >= end for s, end in ends.items()])


def planned(config: Config, told: Sequence[Membership]) -> MemberPlan:
    """Which memberships take effect, of groups of which anything is released."""
    prefixes = [one.prefix for one in config.groups]
    name = normal if config.agent.normalise_ids else str
    asked = (one._replace(home=name(one.home)) for one in told)
    mine = [one for one in asked if longest_prefix(prefixes, one.group) is not None]
    return config.reserve.plan(mine)
