"""Whether the wheel reads batches or Python does, what leaves is the same, byte for byte."""

from __future__ import annotations

import asyncio
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from aiokafka import TopicPartition

from meteragent.formats import fast
from meteragent.formats.decoder import Decoder
from meteragent.formats.encoder import Encoder
from meteragent.kafka.intake import Intake
from meteragent.kafka.unpack import Unpacker
from meteragent.kafka.walk import Fetched
from meteragent.privacy import native
from meteragent.stream.pipeline import Assigned, Pipeline
from meteragent.stream.readings import Numbered
from tests.batches import Stored, batch
from tests.formats.payloads import Payloads
from tests.given import KEY, MINUTE, policy

if TYPE_CHECKING:
    from collections.abc import Iterator

METERS, MINUTES, AT_ONCE = 40, 12, 200


def log(seed: int) -> Iterator[Stored]:
    """Readings of some homes, late and early ones, blocks, garbage, and strange letters."""
    draw = Random(seed)
    payloads = Payloads(draw)
    offset = 0
    for step in range(MINUTES * 6):
        for number in range(METERS):
            meter, time = f"{draw.choice(('m', 'm', 'm', 'zähler'))}-{number}", 10_000 * step
            time -= draw.choice((0, 0, 0, 0, MINUTE)) if step > 6 else 0
            value = draw.choice(("412.5", "-3", "1e3", "24000", "null", '"x"'))
            key = draw.choice(("value", "value", "value", "values"))
            block = f'"start":{time},"interval_ms":10000,"values":[{value},{value}]'
            fields = block if key == "values" else f'"ts":{time},"value":{value}'
            text: bytes | None = f'{{"meter_id":"{meter}",{fields}}}'.encode()
            if draw.random() < 0.03:
                text = payloads.any()
            yield Stored(text, offset, time + draw.randrange(1000))
            offset += draw.choice((1, 1, 1, 2))


async def released(seed: int) -> list[Any]:
    """All that an agent would commit, batch by batch, and tell."""
    told: list[object] = []
    assigned = [
        Assigned("", "all", policy(presence="private")),
        Assigned("zähler-1", "some", policy(idle=MINUTE)),
    ]
    pipeline = Pipeline(assigned, KEY, max_skew=MINUTE, max_meters=METERS + 20)
    source, outputs = TopicPartition("readings", 0), {"all": "out", "some": "other"}
    intake = Intake(source, pipeline, Unpacker(Decoder()), Encoder(), outputs, told.append)
    some, draw, left = [*log(seed)], Random(seed), []
    for first in range(0, len(some), AT_ONCE):
        raw = batch(some[first : first + AT_ONCE], draw.randrange(5))
        await intake.take(Fetched(raw, ((0, len(raw)),), 0))
        while True:
            outbox, position = await intake.empty()
            ledger = dict(outbox.accounts)  # in any order: there is one record for each key
            left.append((outbox.releases, ledger, outbox.rejects, position))
            if not intake.busy:
                break
            await intake.go_on(position)
    return [left, [repr(event) for event in told]]


pytestmark = pytest.mark.fast


@pytest.mark.parametrize("seed", range(4))
def test_what_leaves_is_the_same_with_and_without_the_wheel(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_wheel = asyncio.run(released(seed))
    monkeypatch.setattr(native, "wheel", None)
    assert asyncio.run(released(seed)) == with_wheel
    releases = sum(len(its) for left in with_wheel[0] for its in left[0].values())
    assert releases > METERS
    assert any(left[2] for left in with_wheel[0])


def test_ids_that_are_taken_for_each_other_would_be_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = asyncio.run(released(0))
    monkeypatch.setattr(fast, "Numbered", lambda names, ids: Numbered(names, ids[::-1].copy()))
    assert asyncio.run(released(0)) != right
