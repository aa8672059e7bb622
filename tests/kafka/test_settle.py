"""What a partition still holds is committed to its end, portion by portion, before it is moved."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, cast

from aiokafka import TopicPartition

from meteragent.formats.decoder import Decoder
from meteragent.formats.encoder import Encoder
from meteragent.kafka.intake import Intake
from meteragent.kafka.settle import _commit_all
from meteragent.kafka.unpack import Unpacker
from meteragent.stream.pipeline import Assigned, Pipeline, Position
from tests.batches import Stored, fetched
from tests.given import KEY, MINUTE, policy

if TYPE_CHECKING:
    import pytest

    from meteragent.kafka.alone import Held
    from meteragent.kafka.outbox import Outbox


class Holding:
    """A partition that is held, and what was committed of it."""

    def __init__(self, position: Position) -> None:
        self.position, self.bond = position, object()
        self.committed: list[tuple[int, Position]] = []

    async def commit(self, outbox: Outbox, position: Position, bond: object) -> None:
        assert bond is self.bond
        self.committed.append((outbox.released, position))
        self.position = position


def test_every_portion_is_committed_whether_or_not_the_position_moves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("meteragent.kafka.portions.MOST_AT_ONCE", 1)
    monkeypatch.setattr("meteragent.stream.panes.PANES_AT_ONCE", 200)
    private = policy(presence="private")
    meters = [f"m-{number}" for number in range(10)]
    messages = [(meter, 1000) for meter in meters] + [("m-0", 100 * MINUTE + 1000)]
    records = [
        Stored(json.dumps({"meter_id": meter, "ts": time, "value": 400}).encode(), at, time)
        for at, (meter, time) in enumerate(messages)
    ]

    async def scenario() -> tuple[Holding, Intake]:
        pipeline = Pipeline([Assigned("", "all", private)], KEY, max_skew=1000, max_meters=99)
        source = TopicPartition("readings", 0)
        intake = Intake(
            source, pipeline, Unpacker(Decoder()), Encoder(), {"all": "out"}, lambda _: None
        )
        one = Holding(pipeline.position())
        for some in (records[:10], records[10:]):
            await intake.take(fetched(some))
            await _commit_all(cast("Held", one), intake)
        return one, intake

    one, intake = asyncio.run(scenario())
    released = [count for count, _ in one.committed]
    assert sum(released) == 10 * 100
    assert max(released) <= 300
    assert one.position == intake.pipeline.position()
    assert one.position.processed == len(records)
