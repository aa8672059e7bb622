"""What another thread has found in batches is what the same batches hold, whoever comes when."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import pytest
from aiokafka import TopicPartition

from meteragent.errors import BatchRefused
from meteragent.formats import fast
from meteragent.formats.decoder import Decoder
from meteragent.kafka.ahead import Ahead, Polled
from meteragent.kafka.unpack import LEAST_AHEAD, Unpacker
from meteragent.kafka.walk import Fetched
from meteragent.privacy import native
from tests.batches import GZIP, NONE, Stored, batch
from tests.formats.test_fast import assert_alike

if TYPE_CHECKING:
    from collections.abc import Callable

    from meteragent.kafka.intake import Intake

pytestmark = pytest.mark.fast
SOURCES = [TopicPartition("readings", number) for number in range(3)]


def readings(count: int, first: int = 0, codec: int = NONE, prefix: str = "m") -> Fetched:
    """A batch of so many readings, each of a meter of its own."""
    text = '{"meter_id":"%s-%d","ts":1763424000000,"value":412.5}'
    some = [Stored((text % (prefix, at)).encode(), first + at) for at in range(count)]
    raw = batch(some, codec)
    return Fetched(raw, ((0, len(raw)),), first)


LARGE = readings(2_000)


def in_a_thread(work: Callable[[], Any]) -> Callable[[], Any]:
    """What it finds, found already."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return lambda: found[0]


def ahead(unpacker: Unpacker, fetched: Fetched) -> Fetched:
    work = unpacker.ahead(fetched)
    assert work is not None
    return replace(fetched, found=in_a_thread(work))


def test_another_thread_finds_the_same() -> None:
    unpacker, alone = Unpacker(Decoder()), Unpacker(Decoder())
    for fetched in (LARGE, readings(2_000, 2_000), readings(2_000, 4_000, prefix="other")):
        assert_alike(unpacker.columns(ahead(unpacker, fetched)), alone.columns(fetched))


def test_ids_keep_their_names_where_they_are_forgotten_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fast, "MOST_NAMES", 10)
    unpacker = Unpacker(Decoder())
    first = ahead(unpacker, LARGE)
    second = ahead(unpacker, readings(2_000, 2_000, prefix="other"))  # forgets those of the first
    for fetched, prefix in ((first, "m"), (second, "other")):
        found = unpacker.columns(fetched)
        assert found is not None
        assert [*found.meters] == [f"{prefix}-{number}" for number in range(2_000)]


def test_what_was_found_and_refused_leaves_its_names() -> None:
    unpacker, alone = Unpacker(Decoder()), Unpacker(Decoder())
    ahead(unpacker, LARGE)  # nobody asks for it
    assert_alike(unpacker.columns(LARGE), alone.columns(LARGE))


def test_what_is_small_or_python_reads_is_not_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    small = readings(10)
    assert len(small.raw) < LEAST_AHEAD < len(LARGE.raw)
    assert Unpacker(Decoder()).ahead(small) is None
    old = bytearray(LARGE.raw)
    old[16] = 1
    assert Unpacker(Decoder()).ahead(Fetched(bytes(old), LARGE.spans, 0)) is None
    monkeypatch.setattr(native, "fits", lambda: False)
    assert Unpacker(Decoder()).ahead(LARGE) is None


def broken() -> Fetched:
    raw = bytearray(readings(20_000, codec=GZIP).raw)
    raw[200:300] = bytes(100)
    assert len(raw) > LEAST_AHEAD
    return Fetched(bytes(raw), ((0, len(raw)),), 0)


def test_what_is_wrong_is_said_when_it_is_taken() -> None:
    async def taken() -> None:
        unpacker = Unpacker(Decoder())
        waiting = Ahead()
        polled = Polled(SOURCES[0], broken(), None, cast("Intake", unpacker))
        assert await waiting.turn([polled]) == []
        [found] = await waiting.turn([])
        with pytest.raises(BatchRefused, match="is not what was compressed"):
            unpacker.columns(found.fetched)
        waiting.close()

    asyncio.run(taken())


@pytest.mark.parametrize("drops", [True, False])
def test_of_what_is_wrong_and_is_not_taken_nobody_complains(drops: bool) -> None:  # noqa: FBT001
    complaints: list[object] = []

    async def left() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, said: complaints.append(said))
        waiting = Ahead()
        polled = Polled(SOURCES[0], broken(), None, cast("Intake", Unpacker(Decoder())))
        await waiting.turn([polled])
        if drops:
            waiting.drop(SOURCES[0])
        assert len(await waiting.turn([])) == (not drops)
        waiting.close()
        del waiting
        gc.collect()

    asyncio.run(left())
    assert complaints == []


def test_polls_are_taken_in_order_each_after_the_next_has_come() -> None:
    async def turns() -> list[list[tuple[int, int]]]:
        waiting, unpackers, seen = Ahead(), [Unpacker(Decoder()) for _ in SOURCES], []
        small, next_one = readings(5, 2_000), readings(2_000, 2_005)
        polls = [[(0, LARGE), (1, small)], [(0, small), (2, LARGE)], [(0, next_one)], [], []]
        for poll in polls:
            polled = [
                Polled(SOURCES[nth], fetched, None, cast("Intake", unpackers[nth]))
                for nth, fetched in poll
            ]
            now = await waiting.turn(polled)
            seen.append([(one.source.partition, one.fetched.first) for one in now])
            assert bool(waiting) is any(map(waiting.holds, SOURCES))
        waiting.close()
        return seen

    assert asyncio.run(turns()) == [[(1, 2_000)], [(0, 0), (0, 2_000)], [(2, 0)], [(0, 2_005)], []]


def test_of_a_partition_that_is_read_again_nothing_waits() -> None:
    async def dropped() -> None:
        waiting = Ahead()
        some = [
            Polled(source, LARGE, None, cast("Intake", Unpacker(Decoder()))) for source in SOURCES
        ]
        await waiting.turn(some)
        waiting.drop(SOURCES[1])
        assert [*map(waiting.holds, SOURCES)] == [True, False, True]
        assert [one.source for one in await waiting.turn([])] == [SOURCES[0], SOURCES[2]]
        waiting.close()

    asyncio.run(dropped())


def test_who_is_not_there_is_not_waited_for() -> None:
    async def now() -> list[Polled]:
        waiting = Ahead()
        found = await waiting.turn([Polled(SOURCES[0], LARGE, None, None)])
        waiting.close()
        return found

    assert len(asyncio.run(now())) == 1


def test_python_gets_on_while_the_wheel_decodes() -> None:
    """Were its lock held, this thread would have no time of the processor until all is found."""
    assert any(_gets_on() for _ in range(5))  # a busy machine may let one of them wait


def _gets_on() -> bool:
    work = Unpacker(Decoder()).ahead(Fetched(LARGE.raw, LARGE.spans * 5_000, first=2_000))
    assert work is not None
    took: list[float] = []

    def find() -> None:
        begun = time.thread_time()
        work()
        took.append(time.thread_time() - begun)

    thread = threading.Thread(target=find)
    thread.start()
    begun, busy = time.thread_time(), 0.0
    while thread.is_alive():
        busy = time.thread_time() - begun
    return busy > took[0] / 4
