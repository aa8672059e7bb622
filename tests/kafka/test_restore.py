"""What is committed beside an offset is read back as it was, and nobody else's is."""

import asyncio
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import KafkaConnectionError
from aiokafka.structs import OffsetAndMetadata
from hypothesis import given
from hypothesis import strategies as st

from meteragent.config.kafka import Kafka
from meteragent.errors import ForeignCommit
from meteragent.kafka.clients import Clients
from meteragent.kafka.owner import MOST_SUPERSEDED, Bond, Generation, Layout
from meteragent.kafka.restore import Kept, accounts, bond_of, metadata, parse
from meteragent.stream.position import DAWN, MOST_TICKS, Position

OFFSETS = st.integers(0, 2**63 - 1)
TIMES = st.integers(DAWN, 2**48)
POSITIONS = st.builds(
    Position, OFFSETS, TIMES, OFFSETS, st.lists(st.tuples(OFFSETS, TIMES), max_size=9).map(tuple)
)
WORDS = st.text("0123456789abcdef", min_size=1, max_size=16)
GENERATIONS = st.builds(
    Generation, st.integers(1, 10**6), WORDS, st.lists(WORDS, max_size=9).map(tuple)
)
LAYOUTS = st.builds(Layout, st.integers(1, 10**4), st.none() | st.integers(1, 10**4))
BONDS = st.builds(Bond, WORDS, OFFSETS, WORDS, LAYOUTS, GENERATIONS)
LIMIT = 4096
"""Characters that a broker keeps beside an offset, if nothing else is set."""


@pytest.mark.parametrize("fails", [False, True])
def test_whoever_reads_a_ledger_lets_go_of_the_connection(*, fails: bool) -> None:
    class Reader:
        """Of a partition that is empty, or of a cluster that is not there."""

        closed = 0

        async def start(self) -> None:
            if fails:
                raise KafkaConnectionError

        def assign(self, sources: list[TopicPartition]) -> None:
            assert sources == [TopicPartition("ledger", 3)]

        async def seek_to_beginning(self, source: TopicPartition) -> None: ...

        async def position(self, source: TopicPartition) -> int:
            del source
            return 0

        highwater = staticmethod(lambda _: 0)

        async def getmany(self, *_: TopicPartition, **__: int) -> dict[TopicPartition, list[Any]]:
            return {}

        async def stop(self) -> None:
            self.closed += 1

    class OfReader(Clients):
        def consumer(self, **_: object) -> Any:  # noqa: ANN401 - such a reader
            return reader

    reader = Reader()
    reading = accounts(OfReader(Kafka(ledger="ledger")), 3)
    if fails:
        with pytest.raises(KafkaConnectionError):
            asyncio.run(reading)
    else:
        assert asyncio.run(reading) == Kept({}, {}, [], 0)
    assert reader.closed == 1


@given(POSITIONS, BONDS)
def test_a_position_is_read_back_as_it_was(position: Position, bond: Bond) -> None:
    committed = OffsetAndMetadata(position.offset, metadata(position, bond))
    assert parse(Kafka(), 3, committed) == position
    assert str(bond_of(committed)) == str(bond)


def test_a_position_of_before_ledgers_had_names_is_read_and_bound_to_none() -> None:
    committed = OffsetAndMetadata(17, "meteragent/1 5:18 17:6")
    assert parse(Kafka(), 3, committed) == Position(17, 5, 18, ((17, 6),))
    assert bond_of(committed) is None
    assert bond_of(OffsetAndMetadata(-1, "")) is None


def test_the_most_ticks_fit_beside_an_offset() -> None:
    """Of a partition with ten million million records, until the year 5138."""
    tick = (10**13 - 1, 10**14 - 1)
    left = tuple(f"{number:016x}" for number in range(MOST_SUPERSEDED))
    bond = Bond("f" * 16, 10**13 - 1, "f" * 16, Layout(999, 1999), Generation(999, "f" * 16, left))
    longest = Position(tick[0], tick[1], tick[0], (tick,) * MOST_TICKS)
    assert len(metadata(longest, bond)) <= LIMIT


@pytest.mark.parametrize(
    "foreign",
    [
        *("", "hello", "meteragent/1", "meteragent/1 1", "meteragent/1 1:2:3", "x/1 1:2"),
        *("meteragent/2", "meteragent/2 1:2", "meteragent/2 a:1:b:2:3:c:", "meteragent/2 a:x 1:2"),
    ],
)
def test_what_somebody_else_committed_is_refused(foreign: str) -> None:
    with pytest.raises(ForeignCommit, match="partition 3"):
        parse(Kafka(), 3, OffsetAndMetadata(17, foreign))
