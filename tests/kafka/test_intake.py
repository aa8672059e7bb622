"""The wall clock closes no window before its tick is committed: an abort is no second draw."""

import asyncio
import json

import pytest
from aiokafka import TopicPartition

from meteragent.formats.decoder import Decoder
from meteragent.formats.encoder import Encoder
from meteragent.kafka.intake import Intake
from meteragent.kafka.unpack import Unpacker
from meteragent.stream.pipeline import Assigned, Pipeline, Position
from meteragent.watch.events import BatchTaken, WindowsDecided
from tests.batches import Stored, fetched
from tests.given import KEY, MINUTE, policy

UNPACKER = Unpacker(Decoder())


def test_time_passes_only_once_that_is_committed() -> None:
    async def scenario() -> None:
        pipeline = Pipeline([Assigned("", "all", policy())], KEY, max_skew=1000, max_meters=9)
        reading = b'{"meter_id":"m","ts":1000,"value":400}'
        assert not list(pipeline.feed(Decoder().decode([reading], [0], [1000])))
        source = TopicPartition("readings", 0)
        intake = Intake(source, pipeline, UNPACKER, Encoder(), {"all": "out"}, lambda _: None)
        before = pipeline.position()

        for now, is_over in ((MINUTE - 1, False), (2 * MINUTE, True)):
            intake.pass_time(now)
            assert intake.busy == is_over  # where nothing is over, no tick is to be committed
        await intake.go_on(before)
        assert intake.waiting == 0

        outbox, committed = await intake.empty()
        assert not outbox
        await intake.go_on(committed)
        assert intake.waiting == 1
        assert not intake.busy

    asyncio.run(scenario())


def test_a_long_pause_is_committed_in_portions_with_the_position_before_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ten private meters, a pause of a hundred windows, two steps' releases at a time."""
    monkeypatch.setattr("meteragent.kafka.portions.MOST_AT_ONCE", 1)
    monkeypatch.setattr("meteragent.stream.panes.PANES_AT_ONCE", 200)
    meters = [f"m-{number}" for number in range(10)]
    private = policy(presence="private")

    async def scenario() -> tuple[list[int], list[Position], list[object]]:
        pipeline = Pipeline([Assigned("", "all", private)], KEY, max_skew=1000, max_meters=99)
        said: list[object] = []
        source = TopicPartition("readings", 0)
        intake = Intake(source, pipeline, UNPACKER, Encoder(), {"all": "out"}, said.append)
        await intake.take(fetched(record(at, meter, 1000) for at, meter in enumerate(meters)))
        _, before = await intake.empty()
        await intake.take(fetched([record(10, "m-0", 100 * MINUTE + 1000)]))
        portions, positions = [], []
        while True:
            outbox, position = await intake.empty()
            portions.append(outbox.released)
            positions.append(position)
            if not intake.busy:
                return portions, [before, *positions], said
            intake.pass_time(500 * MINUTE)  # not before what is under way is done
            await intake.go_on(position)

    portions, positions, said = asyncio.run(scenario())
    assert len(portions) > 3
    assert sum(portions) == 10 * 100
    assert max(portions) <= 300
    assert set(positions[:-1]) == {positions[0]}
    assert positions[-1].processed == 11
    assert [type(event) for event in said].count(BatchTaken) == 2
    assert isinstance(said[-1], BatchTaken)


def test_panes_close_before_any_window_is_over() -> None:
    """What is carried of the window leaves with the position; of windows nothing is told yet."""

    async def scenario() -> None:
        long = policy(size=60 * MINUTE)
        pipeline = Pipeline([Assigned("", "all", long)], KEY, max_skew=1000, max_meters=9)
        said: list[object] = []
        source = TopicPartition("readings", 0)
        intake = Intake(source, pipeline, UNPACKER, Encoder(), {"all": "out"}, said.append)
        await intake.take(fetched(record(at, "m", at * 20 * MINUTE) for at in range(3)))
        outbox, position = await intake.empty()
        assert (outbox.released, list(outbox.accounts)) == (0, ["m"])
        assert position.processed == 3
        assert [type(event) for event in said] == [BatchTaken]
        await intake.take(fetched([record(3, "m", 80 * MINUTE)]))
        assert (await intake.empty())[0].released == 1
        assert [type(event) for event in said] == [BatchTaken, WindowsDecided, BatchTaken]

    asyncio.run(scenario())


def test_a_window_of_which_no_pane_is_open_is_open_all_the_same() -> None:
    """Its first quarter is over by the brokers' clock, and nobody was heard of since."""

    async def scenario() -> None:
        long = policy(size=60 * MINUTE)
        pipeline = Pipeline([Assigned("", "all", long)], KEY, max_skew=1000, max_meters=9)
        source = TopicPartition("readings", 0)
        intake = Intake(source, pipeline, UNPACKER, Encoder(), {"all": "out"}, lambda _: None)
        assert not pipeline.holds_open
        await intake.take(fetched([record(0, "m", 1000)]))
        for time, still_open in ((20 * MINUTE, True), (60 * MINUTE, False)):
            intake.pass_time(time)
            _, committed = await intake.empty()
            await intake.go_on(committed)
            assert pipeline.holds_open == still_open

    asyncio.run(scenario())


def test_what_is_forgotten_holds_nothing_any_more() -> None:
    """Neither what waited for a commit, nor a way to commit it."""

    async def scenario() -> None:
        pipeline = Pipeline([Assigned("", "all", policy())], KEY, max_skew=1000, max_meters=9)
        source = TopicPartition("readings", 0)
        intake = Intake(source, pipeline, UNPACKER, Encoder(), {"all": "out"}, lambda _: None)
        await intake.take(fetched([record(0, "m", 1000), record(1, "m", 5 * MINUTE)]))
        assert intake.waiting == 1
        intake.forget()
        assert intake.waiting == 0
        for task in (intake.empty(), intake.settle()):
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(scenario())


def record(offset: int, meter: str, time: int) -> Stored:
    value = json.dumps({"meter_id": meter, "ts": time, "value": 400}).encode()
    return Stored(value, offset, time)
