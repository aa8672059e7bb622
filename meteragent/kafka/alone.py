"""At work on a ledger while no agent is: what migration, a new key and an accepted loss begin with.

A group that has members is refused. Of each partition the producer is started before anything is
read: then whoever was frozen meanwhile is fenced, and cannot commit what nobody reckons with. An
agent that starts later fences us: then our next transaction fails, and nothing of it is done.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import IllegalOperation, ProducerFenced

from meteragent.config import Config
from meteragent.errors import NotDrained
from meteragent.formats.registered import SchemasLacking
from meteragent.kafka import restore, topics
from meteragent.kafka.clients import Clients
from meteragent.kafka.handover import Shared
from meteragent.kafka.outbox import Outbox, send_all
from meteragent.kafka.owner import Bond, Layout
from meteragent.kafka.ownership import Ownership
from meteragent.kafka.restore import Kept
from meteragent.kafka.subjects import release_encoder
from meteragent.kafka.walk import Fetched
from meteragent.privacy.entropy import NoiseKey
from meteragent.stream.pipeline import Position
from meteragent.watch.events import Listener

Sharing = Callable[[int], Shared]
"""What is needed to go on with partitions, if accounts are spread over so many."""


@dataclass(slots=True)
class Held:
    """A partition that is ours alone, as it was found."""

    shared: Shared
    source: TopicPartition
    producer: AIOKafkaProducer
    position: Position
    lost: int
    bond: Bond | None
    kept: Kept = field(init=False)
    """Its ledger, once it is read."""

    async def read(self) -> Kept:
        """Read its ledger."""
        self.kept = await restore.accounts(self.shared.clients, self.source.partition)
        return self.kept

    async def commit(self, outbox: Outbox, position: Position, bond: Bond) -> None:
        """One transaction."""
        kafka = self.shared.config.kafka
        self.bond = await send_all(self.producer, kafka, self.source, outbox, position, bond)
        await self.producer.commit_transaction()
        self.position = position

    async def fetched(self, until: int) -> AsyncIterator[Fetched]:
        """The input from the position on."""
        most = self.shared.config.agent.max_batch
        reader = self.shared.clients.input()
        try:
            await reader.start()
            reader.assign([self.source])
            reader.seek(self.source, self.position.offset)
            while await reader.position(self.source) < until:
                for some in (await reader.getbatches(timeout_ms=100, max_records=most)).values():
                    yield await self._readable(replace(some, until=until))
        finally:
            await self.shared.clients.close(reader)

    async def _readable(self, fetched: Fetched) -> Fetched:
        """The same, once the schemas are known that its records need."""
        if self.shared.config.input.written == "json" or not self.shared.kind.reads_messages:
            return fetched
        unpacker = self.shared.kind.unpacker(self.source.partition)
        while True:
            try:
                unpacker.columns(fetched)
            except SchemasLacking as lacking:
                await self.shared.schemas.learn(self.source.partition, lacking)
            else:
                return fetched


@asynccontextmanager
async def alone(
    config: Config, key: NoiseKey, clients: Clients, tell: Listener
) -> AsyncIterator[tuple[AIOKafkaAdminClient, Sharing]]:
    """Connections, and no agent beside us."""
    async with topics.admin(clients) as admin:
        await _refuse_running(admin, config.kafka.group)
        consumer = clients.consumer()
        try:
            await consumer.start()
            ownership = Ownership(config, key)
            encoder = await release_encoder(config)
            yield (
                admin,
                lambda partitions: Shared(
                    config,
                    key,
                    tell,
                    clients,
                    lambda: 0.0,
                    consumer,
                    admin,
                    partitions,
                    ownership,
                    lambda _: None,
                    encoder=encoder,
                ),
            )
        finally:
            await clients.close(consumer)


async def _refuse_running(admin: AIOKafkaAdminClient, group: str) -> None:
    (response,) = await admin.describe_consumer_groups([group])
    state = response.groups[0][2]
    if state not in {"Empty", "Dead"}:
        raise NotDrained(f"kafka.group: {group} has running agents; stop them all first")


@asynccontextmanager
async def held(shared: Shared, partition: int) -> AsyncIterator[Held]:
    """A partition, and nobody else has it."""
    kafka, clients = shared.config.kafka, shared.clients
    producer = clients.of_partition(partition)
    try:
        await producer.start()
        committed = (await restore.committed(shared.admin, kafka, partition + 1))[partition]
        position, lost = await restore.position(shared.consumer, kafka, partition, committed)
        source = TopicPartition(kafka.input, partition)
        bond = restore.bond_of(committed)
        yield Held(shared, source, producer, position, lost, bond)
    except (ProducerFenced, IllegalOperation) as error:  # as aiokafka has it
        raise NotDrained(
            f"kafka.group: an agent has taken partition {partition} meanwhile; stop all agents, "
            "then run again"
        ) from error
    finally:
        await clients.close(producer)


async def layout(admin: AIOKafkaAdminClient, config: Config) -> tuple[Layout, int]:
    """Over how many partitions accounts are spread, and how many the input has now.

    As positions say; if they say nothing, as the ledger is.
    """
    described = await topics.describe(admin, config.kafka)
    now = topics.partitions_of_input(config.kafka, described)
    bonds = await restore.committed(admin, config.kafka, now)
    known = [bond.layout for one in bonds.values() if (bond := restore.bond_of(one)) is not None]
    moving = [one for one in known if one.moving_to is not None]
    ledger = described.get(config.kafka.ledger)
    unknown = Layout(ledger.partitions if ledger else now)
    return next(iter([*moving, *known]), unknown), now
