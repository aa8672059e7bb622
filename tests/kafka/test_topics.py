"""Topics are made once, and nobody goes on before every broker that is asked knows of them."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from aiokafka.errors import (
    InvalidReplicationFactorError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
)

from meteragent.config import from_document
from meteragent.errors import TopicsUnfit
from meteragent.kafka import topics
from meteragent.kafka.clients import Clients
from tests.kafka.given import TABLE

if TYPE_CHECKING:
    from pathlib import Path

    from aiokafka.admin import AIOKafkaAdminClient, NewTopic

    from meteragent.config import Config


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return from_document({"policy": [TABLE]}, tmp_path, {})


class Cluster(Clients):
    """An administrator of brokers that learn of a topic some questions after it was made."""

    def __init__(self, config: Config, *, slow: int = 0, refuses: int = 0) -> None:
        super().__init__(config.kafka)
        self._slow, self._refuses = slow, refuses
        self.made: dict[str, int] = {}
        self.questions = 0

    async def probe(self) -> None: ...

    def admin(self) -> AIOKafkaAdminClient:
        return cast("AIOKafkaAdminClient", self)

    async def start(self) -> None: ...

    async def close(self, client: Any = None) -> None:  # noqa: ANN401 - nothing of anybody's
        del client

    async def create_topics(self, wanted: list[NewTopic]) -> SimpleNamespace:
        [topic] = wanted
        error = self._refuses or (TopicAlreadyExistsError.errno if topic.name in self.made else 0)
        if not error:
            self.made[topic.name] = topic.num_partitions
        return SimpleNamespace(topic_errors=[(topic.name, error, "words of a broker's")])

    async def describe_topics(self, names: list[str]) -> list[dict[str, Any]]:
        self.questions += bool(self.made)
        known = self.made if self.questions > self._slow else {}
        unknown = UnknownTopicOrPartitionError.errno
        return [
            {
                "topic": name,
                "error_code": 0 if name in known else unknown,
                "partitions": range(known.get(name, 0)),
            }
            for name in names
        ]

    async def describe_configs(self, resources: list[Any]) -> list[Any]:
        del resources
        return []


@pytest.mark.parametrize("slow", [0, 3])
def test_topics_are_made_once_and_waited_for_no_longer_than_needed(
    config: Config, monkeypatch: pytest.MonkeyPatch, slow: int
) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    cluster = Cluster(config, slow=slow)
    made = asyncio.run(topics.create(config, cluster, 3, 1))
    assert made == [*cluster.made]
    assert cluster.made[config.kafka.input] == cluster.made[config.kafka.ledger] == 3
    assert cluster.made[config.kafka.policies] == 1
    assert len(slept) == slow
    assert asyncio.run(topics.create(config, cluster, 3, 1)) == []
    assert len(slept) == slow


def test_a_topic_that_cannot_be_made_is_told_with_its_reason(config: Config) -> None:
    cluster = Cluster(config, refuses=InvalidReplicationFactorError.errno)
    with pytest.raises(TopicsUnfit, match=r"topic meter\.readings: InvalidReplicationFactorError"):
        asyncio.run(topics.create(config, cluster, 3, 9))
