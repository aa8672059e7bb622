"""What is committed beside an offset is read back as it was, and nobody else's is."""

import pytest
from aiokafka.structs import OffsetAndMetadata
from hypothesis import given
from hypothesis import strategies as st

from meteragent.config.kafka import Kafka
from meteragent.errors import ForeignCommit
from meteragent.kafka.restore import metadata, parse
from meteragent.stream.pipeline import DAWN, MOST_TICKS, Position

OFFSETS = st.integers(0, 2**63 - 1)
TIMES = st.integers(DAWN, 2**48)
POSITIONS = st.builds(
    Position, OFFSETS, TIMES, OFFSETS, st.lists(st.tuples(OFFSETS, TIMES), max_size=9).map(tuple)
)
LIMIT = 4096
"""Characters that a broker keeps beside an offset, if nothing else is set."""


@given(POSITIONS)
def test_a_position_is_read_back_as_it_was(position: Position) -> None:
    committed = OffsetAndMetadata(position.offset, metadata(position))
    assert parse(Kafka(), 3, committed) == position


def test_the_most_ticks_fit_beside_an_offset() -> None:
    """Of a partition with ten million million records, until the year 5138."""
    tick = (10**13 - 1, 10**14 - 1)
    assert len(metadata(Position(tick[0], tick[1], tick[0], (tick,) * MOST_TICKS))) <= LIMIT


@pytest.mark.parametrize(
    "foreign", ["", "hello", "meteragent/1", "meteragent/1 1", "meteragent/1 1:2:3", "x/1 1:2"]
)
def test_what_somebody_else_committed_is_refused(foreign: str) -> None:
    with pytest.raises(ForeignCommit, match="partition 3"):
        parse(Kafka(), 3, OffsetAndMetadata(17, foreign))
