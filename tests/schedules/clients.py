"""What is handed to an agent instead of Kafka's clients: such as speak to the model."""

from types import SimpleNamespace
from typing import Any

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError
from aiokafka.structs import OffsetAndMetadata

from meteragent.config.kafka import Kafka
from meteragent.errors import BrokerUnreachable
from meteragent.kafka.clients import Clients
from meteragent.kafka.rights import _GroupRights
from tests.schedules.consumer import Consumer
from tests.schedules.members import Members
from tests.schedules.network import Network
from tests.schedules.producer import Producer

EVERYTHING = -1
"""Every operation, as bits."""


class Admin:
    """Describes topics as they should be, and tells what is committed."""

    def __init__(self, network: Network) -> None:
        self._network = network

    async def start(self) -> None:
        await self._network.call(lambda: None)

    async def close(self) -> None: ...

    async def list_consumer_group_offsets(
        self, group: str, *, partitions: list[TopicPartition]
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        if self._network.chance(0.01):
            return {}  # the coordinator refuses as a whole
        kafka = self._network.kafka
        none = OffsetAndMetadata(-1, "")
        found: dict[TopicPartition, Any] = await self._network.call(
            lambda: {s: kafka.committed((group, s.partition)) or none for s in partitions}
        )
        return found

    async def find_coordinator(self, group: str) -> int:
        del group
        await self._network.call(lambda: None)
        return 0

    async def _send_request(self, request: Any, node: int = 0) -> SimpleNamespace:  # noqa: ANN401
        """What the agent may do, which is everything; see `meteragent.kafka.rights`."""
        del node
        await self._network.call(lambda: None)
        if isinstance(request, _GroupRights):
            return SimpleNamespace(groups=[(0, EVERYTHING)])
        return SimpleNamespace(topics=[(0, name, EVERYTHING) for name in request._topics])

    async def describe_topics(self, names: list[str]) -> list[dict[str, Any]]:
        await self._network.call(lambda: None)
        return [
            {
                "topic": name,
                "error_code": 0,
                "partitions": range(self._network.kafka.partitions[name]),
            }
            for name in names
        ]

    async def describe_configs(self, resources: list[Any]) -> list[Any]:
        del resources
        return []  # as all brokers have it by default


class ModelClients(Clients):
    """Clients of one instance. How they are closed is the real thing's business."""

    def __init__(self, kafka: Kafka, network: Network, members: Members) -> None:
        super().__init__(kafka)
        self._network = network
        self._members = members

    def consumer(self, **options: Any) -> Consumer:  # noqa: ANN401 - aiokafka's own
        return Consumer(self._network, self._members, options)

    def input(self, **options: Any) -> Any:  # noqa: ANN401 - one of the model
        return self.consumer(**options)

    def producer(self, transactional_id: str | None) -> Producer:
        return Producer(self._network, transactional_id, self.kafka.transaction_timeout / 1000)

    def admin(self) -> Admin:
        return Admin(self._network)

    async def probe(self) -> None:
        try:
            await self._network.call(lambda: None)
        except KafkaError as error:
            raise BrokerUnreachable("the model", type(error).__name__) from error
