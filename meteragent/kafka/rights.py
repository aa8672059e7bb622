"""What this user may do, asked before it matters: Kafka tells it with its metadata (KIP-430).

Asking changes nothing, but for the transactional id of the check itself: whether an id of
ours may be used is only found out by using one.
"""

import asyncio
from contextlib import suppress
from typing import NamedTuple

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import (
    ClusterAuthorizationFailedError,
    GroupAuthorizationFailedError,
    GroupCoordinatorNotAvailableError,
    GroupLoadInProgressError,
    NotCoordinatorForGroupError,
    TopicAuthorizationFailedError,
    TransactionalIdAuthorizationFailed,
    for_code,
)
from aiokafka.protocol.admin import DescribeGroupsRequest_v3, DescribeGroupsResponse_v3
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import Array, Boolean, Int16, Int32, Schema, String

from meteragent.config.kafka import Kafka
from meteragent.errors import BrokerRefused
from meteragent.kafka.clients import Clients

READ, WRITE, DESCRIBE_CONFIGS = 3, 4, 10
_NAMES = {READ: "Read", WRITE: "Write", DESCRIBE_CONFIGS: "DescribeConfigs"}
_UNKNOWN_TOPIC = 3

DENIED = (
    TopicAuthorizationFailedError,
    GroupAuthorizationFailedError,
    TransactionalIdAuthorizationFailed,
    ClusterAuthorizationFailedError,
)
"""What clients raise; they do not say what is forbidden."""
SOON = (
    GroupCoordinatorNotAvailableError,
    GroupLoadInProgressError,
    NotCoordinatorForGroupError,
)


class Right(NamedTuple):
    """Something that `run` does."""

    operation: int
    kind: str
    name: str

    def __str__(self) -> str:
        return f"{_NAMES[self.operation]} on {self.kind} {self.name}"


async def refuse_missing(clients: Clients, admin: AIOKafkaAdminClient) -> None:
    """Raise BrokerRefused, naming everything that `run` would be refused.

    Topics that do not exist are not spoken of.
    """
    kafka = clients.kafka
    async with asyncio.timeout(kafka.request_timeout / 1000):
        missing = [*await _missing_topics(admin, kafka), *await _missing_group(admin, kafka)]
        words = [*map(str, missing), *await _refused_ids(clients)]
    if words:
        user = kafka.security.username or "this user"
        problem = f"{user} has no right to {', '.join(words)}"
        raise BrokerRefused(kafka.bootstrap_servers[0], problem, "grant what is missing")


def _needed(kafka: Kafka) -> dict[Right, None]:
    """What `run` does with topics, in the order in which it is told."""
    members = (topic for setting, topic in kafka.beside.items() if setting == "groups")
    partials = (topic for setting, topic in kafka.beside.items() if setting == "partials")
    read = (kafka.input, kafka.ledger, *members)
    write = (*kafka.outputs, kafka.ledger, kafka.rejected, kafka.policies, *partials)
    return dict.fromkeys(
        (
            *(Right(DESCRIBE_CONFIGS, "topic", name) for name in (*read, *write)),
            *(Right(READ, "topic", name) for name in read),
            *(Right(WRITE, "topic", name) for name in write),
        )
    )


async def _missing_topics(admin: AIOKafkaAdminClient, kafka: Kafka) -> list[Right]:
    needed = _needed(kafka)
    names = [*{right.name: None for right in needed}]
    response = await admin._send_request(_TopicRights(names))  # noqa: SLF001 - no public way
    granted = {name: 0 if code else allowed for code, name, *_, allowed in response.topics}
    unknown = {name for code, name, *_ in response.topics if code == _UNKNOWN_TOPIC}
    return [
        right
        for right in needed
        if right.name not in unknown and not _allows(granted[right.name], right.operation)
    ]


async def _missing_group(admin: AIOKafkaAdminClient, kafka: Kafka) -> list[Right]:
    with suppress(GroupAuthorizationFailedError):
        if _allows(await _of_group(admin, kafka.group), READ):
            return []
    return [Right(READ, "group", kafka.group)]


async def _of_group(admin: AIOKafkaAdminClient, group: str) -> int:
    """What we may do with a group; a coordinator that is only just beginning is waited for."""
    while True:
        try:
            coordinator = await admin.find_coordinator(group)
            response = await admin._send_request(_GroupRights(group), coordinator)  # noqa: SLF001
            ((code, *_, allowed),) = response.groups
            if code:
                raise for_code(code)
        except SOON:
            await asyncio.sleep(0.1)
        else:
            return int(allowed)


def _allows(operations: int, operation: int) -> bool:
    """Operations are bits, numbered as Kafka numbers them."""
    return bool(operations >> operation & 1)


async def _refused_ids(clients: Clients) -> list[str]:
    prefix = f"{clients.kafka.group}-{clients.kafka.input}-"
    producer = clients.producer(f"{prefix}check")
    try:
        await producer.start()
    except TransactionalIdAuthorizationFailed:
        return [f"Write on transactional ids that begin with {prefix}"]
    finally:
        await clients.close(producer)
    return []


class _RightsResponse(Response):  # type: ignore[misc]
    API_KEY = 3
    API_VERSION = 8
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        (
            "brokers",
            Array(
                ("node_id", Int32),
                ("host", String("utf-8")),
                ("port", Int32),
                ("rack", String("utf-8")),
            ),
        ),
        ("cluster_id", String("utf-8")),
        ("controller_id", Int32),
        (
            "topics",
            Array(
                ("error_code", Int16),
                ("topic", String("utf-8")),
                ("is_internal", Boolean),
                (
                    "partitions",
                    Array(
                        ("error_code", Int16),
                        ("partition", Int32),
                        ("leader", Int32),
                        ("leader_epoch", Int32),
                        ("replicas", Array(Int32)),
                        ("isr", Array(Int32)),
                        ("offline_replicas", Array(Int32)),
                    ),
                ),
                ("authorized_operations", Int32),
            ),
        ),
        ("cluster_authorized_operations", Int32),
    )


class _RightsRequest(RequestStruct):  # type: ignore[misc]
    API_KEY = 3
    API_VERSION = 8
    RESPONSE_TYPE = _RightsResponse
    SCHEMA = Schema(
        ("topics", Array(String("utf-8"))),
        ("allow_auto_topic_creation", Boolean),
        ("include_cluster_authorized_operations", Boolean),
        ("include_topic_authorized_operations", Boolean),
    )


class _TopicRights(Request[_RightsRequest]):  # type: ignore[misc]
    """Metadata with what we may do; aiokafka's own stops at version 5."""

    API_KEY = 3

    def __init__(self, topics: list[str]) -> None:
        self._topics = topics

    def build(self, request_struct_class: type[_RightsRequest]) -> _RightsRequest:
        return request_struct_class(self._topics, False, False, True)  # noqa: FBT003 - as on the wire


class _GroupRightsRequest(RequestStruct):  # type: ignore[misc]
    """As aiokafka's own, which reads the answer as one of version 2."""

    API_KEY = 15
    API_VERSION = 3
    RESPONSE_TYPE = DescribeGroupsResponse_v3
    SCHEMA = DescribeGroupsRequest_v3.SCHEMA


class _GroupRights(Request[_GroupRightsRequest]):  # type: ignore[misc]
    """A group, with what we may do with it."""

    API_KEY = 15

    def __init__(self, group: str) -> None:
        self._group = group

    def build(self, request_struct_class: type[_GroupRightsRequest]) -> _GroupRightsRequest:
        return request_struct_class([self._group], True)  # noqa: FBT003 - as on the wire
