"""The wall clock closes no window before its tick is committed: an abort is no second draw."""

import asyncio

from aiokafka import TopicPartition

from meteragent.formats.decoder import Decoder
from meteragent.formats.encoder import Encoder
from meteragent.kafka.intake import Intake
from meteragent.privacy.domain import Domain
from meteragent.privacy.entropy import NoiseKey
from meteragent.privacy.policy import Policy, question
from meteragent.stream.pipeline import Assigned, Pipeline

MINUTE = 60_000
POLICY = Policy(
    domain=Domain(0, 1000, 10),
    questions=(question("avg", 1, 100),),
    size=MINUTE,
    interval=10_000,
    hop=MINUTE,
    grace=0,
    idle=0,
    budget=10**9,
    horizon=MINUTE,
)


def test_time_passes_only_once_that_is_committed() -> None:
    async def scenario() -> None:
        pipeline = Pipeline(
            [Assigned("", POLICY)], NoiseKey(bytes(32)), max_skew=1000, max_meters=9
        )
        reading = b'{"meter_id":"m","ts":1000,"value":400}'
        assert not list(pipeline.feed(Decoder().decode([reading], [0], [1000])))
        source = TopicPartition("readings", 0)
        intake = Intake(source, pipeline, Decoder(), Encoder(), lambda _: None)
        before = pipeline.position()

        intake.pass_time(2 * MINUTE)
        assert intake.announced
        await intake.keep(before)
        assert intake.waiting == 0

        outbox, committed = await intake.empty()
        assert not outbox
        await intake.keep(committed)
        assert intake.waiting == 1
        assert not intake.announced

    asyncio.run(scenario())
