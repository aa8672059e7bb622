"""What the agent tells of its work: to metrics, to the log, to whoever listens.

Events are per batch and per transaction, never per reading; they hold counts and times, and
nothing that depends on a reading's value.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from meteragent.stream.partition import State
from meteragent.stream.readings import Reason
from meteragent.stream.releases import Withheld


@dataclass(frozen=True, slots=True)
class PartitionMoved:
    """A partition has come to another state."""

    partition: int
    state: State


@dataclass(frozen=True, slots=True)
class PartitionFailed:
    """Something went wrong; the partition is built anew after a while."""

    partition: int
    error: BaseException
    retry_in: float


@dataclass(frozen=True, slots=True)
class PartitionRestored:
    """Accounts and position were read back from Kafka."""

    partition: int
    meters: int
    seconds: float
    lost: int
    """Records that open windows needed, but that Kafka does not hold any more."""


@dataclass(frozen=True, slots=True)
class BatchTaken:
    """Records were taken in."""

    partition: int
    records: int
    accepted: int
    late: int
    duplicate: int
    rejects: Mapping[Reason, int]


@dataclass(frozen=True, slots=True)
class WindowsDecided:
    """Windows of one policy have closed and were paid for, or withheld."""

    partition: int
    policy: str
    """Its id."""
    windows: int
    released: Mapping[str, int]
    """How many windows released each query, the first one first: it is the last to be withheld."""
    withheld: Mapping[Withheld, int]
    """How many windows withheld something, by reason."""
    spent: Mapping[str, int]
    """Nano-units per watt spent by each query."""
    newest_end: int
    """When the newest of these windows ended, in milliseconds since the epoch."""


@dataclass(frozen=True, slots=True)
class TransactionEnded:
    """Releases, ledger and position were committed."""

    partition: int
    windows: int
    seconds: float


@dataclass(frozen=True, slots=True)
class TransactionAbandoned:
    """A transaction was left open; whoever has the partition next aborts it."""

    partition: int


@dataclass(frozen=True, slots=True)
class Rebalanced:
    """The group has dealt out partitions anew."""

    partitions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AgentFailed:
    """Kafka cannot be used at all; the agent starts over after a while."""

    error: BaseException
    retry_in: float


Occurrence = (
    AgentFailed
    | PartitionMoved
    | PartitionFailed
    | PartitionRestored
    | BatchTaken
    | WindowsDecided
    | TransactionEnded
    | TransactionAbandoned
    | Rebalanced
)

Listener = Callable[[Occurrence], None]
