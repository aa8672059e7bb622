"""What the agent tells of its work: to metrics, to the log, to whoever listens.

Events are per batch and per transaction, never per reading; they hold counts and times, and
nothing that depends on a reading's value.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass

from meteragent.stream.partition import State
from meteragent.stream.readings import Reason
from meteragent.stream.releases import Withheld


@dataclass(frozen=True, slots=True)
class OfPartition:
    """Something that happened to one partition."""

    partition: int


@dataclass(frozen=True, slots=True)
class PartitionMoved(OfPartition):
    """A partition has come to another state."""

    state: State


@dataclass(frozen=True, slots=True)
class PartitionFailed(OfPartition):
    """Something went wrong; the partition is built anew after a while."""

    error: BaseException
    retry_in: float
    """Seconds until it begins anew."""


@dataclass(frozen=True, slots=True)
class PartitionRestored(OfPartition):
    """Accounts and position were read back from Kafka."""

    meters: int
    seconds: float
    """What that took."""
    lost: int
    """Records that open windows needed, but that Kafka does not hold any more."""


@dataclass(frozen=True, slots=True)
class BatchTaken(OfPartition):
    """Records were taken in."""

    records: int
    accepted: int
    late: int
    duplicate: int
    unpaired: int
    """Registers without one in the slot before, in panes that have closed."""
    rejects: Mapping[Reason, int]


@dataclass(frozen=True, slots=True)
class WindowsDecided(OfPartition):
    """Windows of one policy have closed and were paid for, or withheld."""

    policy: str
    """Its id."""
    windows: int
    released: Mapping[str, int]
    """How many windows released each query, the first one first: it is the last to be withheld."""
    withheld: Mapping[Withheld, int]
    """How many windows withheld something, by reason."""
    spent: Mapping[str, int]
    """Nano-units per watt spent by each query, or by all together."""
    newest_end: int
    """When the newest of these windows ended, in milliseconds since the epoch."""


@dataclass(frozen=True, slots=True)
class TransactionAbandoned(OfPartition):
    """A transaction was left open; whoever has the partition next aborts it."""


@dataclass(frozen=True, slots=True)
class TransactionEnded(OfPartition):
    """Releases, ledger and position were committed."""

    windows: int
    """How many are published by it, or said to be withheld."""
    seconds: float
    """From handing the records over to the end of the commit."""
    outlived: int = 0
    """How many of them are older than their topic keeps any."""


@dataclass(frozen=True, slots=True)
class Rebalanced:
    """The group has dealt out partitions anew."""

    partitions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SessionLost(OfPartition):
    """The MQTT broker does not know the gateway any more: it kept nothing that came meanwhile."""


@dataclass(frozen=True, slots=True)
class MembersRead:
    """It was read who is in which group."""

    members: int
    """How many memberships take effect."""
    later: int
    """How many of them begin later than they were to, for what their homes reserve ..."""
    refused: int
    """... and how many never do."""
    damaged: int
    """Records that are no list of groups ..."""
    too_soon: int
    """... and that would have changed what has begun."""
    without_members: tuple[str, ...] = ()
    """Policies of groups that nobody is in."""

    @property
    def counts(self) -> dict[str, int]:
        """Each by its name."""
        found = asdict(self)
        del found["without_members"]
        return found

    @property
    def is_doubtful(self) -> bool:
        """Whether somebody is not in the group that was meant, or nobody is in any."""
        refused = self.later or self.refused or self.damaged or self.too_soon
        return bool(refused or self.without_members)


@dataclass(frozen=True, slots=True)
class TriedAgain:
    """Something went wrong that is tried again after a while."""

    error: BaseException
    retry_in: float
    """Seconds until then."""


@dataclass(frozen=True, slots=True)
class AgentFailed(TriedAgain):
    """Kafka cannot be used at all: the agent starts over."""


@dataclass(frozen=True, slots=True)
class SchemasAwaited(TriedAgain):
    """The registry did not tell a schema that a partition needs.

    It waits; or, if it is not to be tried again, records are rejected for want of it.
    """

    partition: int


@dataclass(frozen=True, slots=True)
class ClockCompared:
    """This machine's clock and the brokers' have begun to differ, differ otherwise, or agree."""

    ahead: float
    """By how many seconds, at least, this machine's is ahead; a negative number if it is behind."""
    most: float
    """By how many they may differ."""

    @property
    def agrees(self) -> bool:
        """Whether they differ by no more than they may."""
        return abs(self.ahead) <= self.most


@dataclass(frozen=True, slots=True)
class ClockFailed(TriedAgain):
    """The brokers' time could not be learned: they are asked for it again."""


Occurrence = (
    AgentFailed
    | ClockCompared
    | ClockFailed
    | PartitionMoved
    | PartitionFailed
    | PartitionRestored
    | SchemasAwaited
    | BatchTaken
    | WindowsDecided
    | TransactionEnded
    | TransactionAbandoned
    | Rebalanced
    | SessionLost
    | MembersRead
)

Listener = Callable[[Occurrence], None]
