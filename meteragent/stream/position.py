"""How far a partition has come: what is committed with its releases."""

from dataclasses import dataclass

DAWN = -(2**62)
"""The clock of a partition from which nothing was read yet."""

MOST_TICKS = 100
"""More would not fit into what Kafka keeps beside an offset; no more fall into open windows."""


@dataclass(frozen=True, slots=True)
class Position:
    """How far a partition has come, and from where it could be rebuilt."""

    offset: int
    """The oldest record that an open window still needs; the one to commit."""
    clock: int
    """The partition's event time before that record."""
    processed: int
    """One past the last record taken in."""
    ticks: tuple[tuple[int, int], ...] = ()
    """(processed, clock): ticks to be repeated when so many records have been taken in again."""


START = Position(offset=0, clock=DAWN, processed=0)
