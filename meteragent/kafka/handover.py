"""What workers share, and what each of them builds up."""

from dataclasses import dataclass
from functools import cached_property

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient

from meteragent.config import Config
from meteragent.kafka.intake import Intake
from meteragent.privacy.entropy import NoiseKey
from meteragent.stream.pipeline import Assigned, Position
from meteragent.watch.events import Listener


@dataclass(frozen=True)
class Shared:
    """What the workers of one agent share."""

    config: Config
    key: NoiseKey
    consumer: AIOKafkaConsumer
    admin: AIOKafkaAdminClient
    tell: Listener

    @cached_property
    def assigned(self) -> tuple[Assigned, ...]:
        """The policies, by the prefix of the meters they are for."""
        return tuple(Assigned(prefix, p) for prefix, p in self.config.policies.items())


@dataclass(slots=True)
class Handover:
    """What a worker has built up, all of it or nothing."""

    producer: AIOKafkaProducer | None = None
    intake: Intake | None = None
    committed: Position | None = None
