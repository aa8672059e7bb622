"""What workers share, and what each of them builds up."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient

from meteragent.config import Config
from meteragent.formats.encoder import Encoder
from meteragent.formats.forms import MessageDecoder, ReleaseEncoder
from meteragent.formats.registered import RegisteredDecoder
from meteragent.kafka.clients import Clients
from meteragent.kafka.decode_once import DecodedOnce
from meteragent.kafka.intake import Intake
from meteragent.kafka.outbox import Outbox
from meteragent.kafka.owner import Bond, Claim
from meteragent.kafka.ownership import Ownership
from meteragent.kafka.schemas import Schemas, client_of
from meteragent.kafka.work import KindOfWork, MeterWork
from meteragent.privacy.entropy import NoiseKey
from meteragent.process.loop import Clock
from meteragent.stream.homes import Homes
from meteragent.stream.meters import normal
from meteragent.stream.pipeline import Pipeline, Position
from meteragent.watch.events import Listener


@dataclass(frozen=True)
class Shared:
    """What the workers of one agent share."""

    config: Config
    key: NoiseKey
    tell: Listener
    clients: Clients
    clock: Clock
    consumer: AIOKafkaConsumer
    admin: AIOKafkaAdminClient
    partitions: int
    """Of the input."""
    ownership: Ownership
    give_up: Callable[[Exception], None]
    """To be told of what no partition gets over by itself."""
    lasting: Mapping[str, int] = field(default_factory=dict)
    """Output -> for how many milliseconds it keeps releases, where it does not for ever."""
    wall: Clock = time.time
    encoder: ReleaseEncoder = field(default_factory=Encoder)
    work: KindOfWork | None = None
    """What is done with the input, if it is not that meters are released."""
    once: DecodedOnce | None = None
    """What others in this process read too."""

    @property
    def decoder(self) -> MessageDecoder:
        """What reads messages. Precondition: the input is that of meters."""
        assert isinstance(self.kind, MeterWork)  # noqa: S101 - nobody else reads any
        return self.kind.decoder

    @cached_property
    def schemas(self) -> Schemas:
        """What is known of the registry. Precondition: messages have their schemas there."""
        decoder, registry = self.decoder, self.config.kafka.registry
        assert isinstance(decoder, RegisteredDecoder)  # noqa: S101 - no other one lacks any
        client = client_of(registry, self.config.input.written)
        return Schemas(registry, client, decoder, self.tell)

    @cached_property
    def claim(self) -> Claim:
        """Who we are, among those who may write the ledger."""
        return self.ownership.claim(self.partitions)

    @cached_property
    def homes(self) -> Homes:
        """Where meters are at home."""
        return Homes(self.config.kafka.partitioner, self.partitions)

    def home_of(self, account: str) -> int:
        """The partition of the meter that an account is of."""
        return self.homes.of(normal(account) if self.config.agent.normalise_ids else account)

    @cached_property
    def kind(self) -> KindOfWork:
        """What is done with the input: meters are released, where nothing else was handed in."""
        return self.work or MeterWork(self.config, self.key, self.homes, self.once)

    def pipeline(self, partition: int, start: Position) -> Pipeline:
        """A pipeline that goes on from there; its accounts are still to be restored."""
        return cast("Pipeline", self.kind.pipeline(partition, start))  # asked for no more than that

    def outlived(self, outbox: Outbox) -> int:
        """How many releases are older than their topic keeps any, and so deleted at once."""
        return outbox.outlived(self.lasting, int(self.wall() * 1000))

    def intake(self, source: TopicPartition, pipeline: Pipeline) -> Intake:
        """What takes records of a partition in, for a pipeline that is restored."""
        unpacker, silent = self.kind.unpacker(source.partition), self.kind.silent
        outputs, encoder = self.config.outputs, self.encoder
        return Intake(source, pipeline, unpacker, encoder, outputs, self.tell, silent)


@dataclass(slots=True)
class Handover:
    """What a worker has built up, all of it or nothing."""

    producer: AIOKafkaProducer | None = None
    intake: Intake | None = None
    committed: Position | None = None
    bond: Bond | None = None
    """What the next position is committed with."""
    unwritten: dict[bytes, bytes | None] = field(default_factory=dict)
    """Records of the ledger besides accounts that the next transaction has to hold."""
