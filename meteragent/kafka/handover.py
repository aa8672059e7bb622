"""What workers share, and what each of them builds up."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient

from meteragent.config import Config
from meteragent.formats.decoder import Decoder
from meteragent.formats.encoder import Encoder
from meteragent.formats.forms import MessageDecoder, ReleaseEncoder
from meteragent.kafka.clients import Clients
from meteragent.kafka.intake import Intake
from meteragent.kafka.loop import Clock
from meteragent.privacy.entropy import NoiseKey
from meteragent.stream.pipeline import Assigned, Pipeline, Position
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
    give_up: Callable[[Exception], None]
    """To be told of what no partition gets over by itself."""
    decoder: MessageDecoder = field(default_factory=Decoder)
    encoder: ReleaseEncoder = field(default_factory=Encoder)

    @cached_property
    def assigned(self) -> tuple[Assigned, ...]:
        """The policies, by the prefix of the meters they are for."""
        return tuple(Assigned(prefix, p) for prefix, p in self.config.policies.items())

    def pipeline(self, start: Position) -> Pipeline:
        """A pipeline that goes on from there; its accounts are still to be restored."""
        agent = self.config.agent
        return Pipeline(
            self.assigned,
            self.key,
            max_skew=agent.max_skew,
            max_meters=agent.max_meters,
            normalise_ids=agent.normalise_ids,
            start=start,
        )

    def intake(self, source: TopicPartition, pipeline: Pipeline) -> Intake:
        """What takes records of a partition in, for a pipeline that is restored."""
        return Intake(source, pipeline, self.decoder, self.encoder, self.tell)


@dataclass(slots=True)
class Handover:
    """What a worker has built up, all of it or nothing."""

    producer: AIOKafkaProducer | None = None
    intake: Intake | None = None
    committed: Position | None = None
