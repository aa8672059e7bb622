"""Who is in which group is looked at again and again, whatever brokers do."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import KafkaConnectionError

from meteragent.config import from_document
from meteragent.kafka import memberships
from meteragent.kafka.memberships import MembersChanged, MembersTold, MembersTopic
from meteragent.privacy.members import Membership
from tests.kafka.given import TABLE

if TYPE_CHECKING:
    from pathlib import Path

    from meteragent.kafka.clients import Clients

TOPIC = TopicPartition("meter.groups", 0)


class Reader:
    """A consumer that cannot connect, or knows where the topic ends."""

    def __init__(self, *, connects: bool) -> None:
        self._connects = connects

    async def start(self) -> None:
        if not self._connects:
            raise KafkaConnectionError

    async def end_offsets(self, sources: list[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(sources, 7)


class Flaky:
    """The first connections fail."""

    def __init__(self, failing: int) -> None:
        self._failing, self.closed = failing, 0

    def consumer(self) -> Reader:
        self._failing -= 1
        return Reader(connects=self._failing < 0)

    async def close(self, reader: Reader) -> None:
        assert isinstance(reader, Reader)
        self.closed += 1


@pytest.mark.parametrize("failing", [0, 1, 3])
def test_who_could_not_connect_at_first_still_notices_that_homes_move(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    monkeypatch.setattr(memberships, "LOOK_SECONDS", 0.0)
    config, clients = from_document({"policy": [TABLE]}, tmp_path, {}), Flaky(failing)
    topic = MembersTopic(config, cast("Clients", clients), {TOPIC: 3})

    async def read(_: object) -> MembersTold:
        return MembersTold([Membership("h", "g")], 1, 0, 0)

    monkeypatch.setattr(MembersTopic, "read", read)
    end = asyncio.run(asyncio.wait_for(topic.watch([]), 5))
    assert isinstance(end, MembersChanged)
    assert str(end) == "meter.groups: members of groups have changed"
    assert clients.closed == failing + 1
