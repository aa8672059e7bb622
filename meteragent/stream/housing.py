"""What a pipeline asks of those who keep the panes of its meters: cohorts, or homes of groups."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

from meteragent.privacy.arrays import Integers
from meteragent.privacy.policy import Policy
from meteragent.stream.closed import Closed
from meteragent.stream.cohort import Holding
from meteragent.stream.panes import Store
from meteragent.stream.releases import Step


class Closing(Protocol):
    """The open panes of one policy's meters."""

    policy: Policy
    store: Store

    @property
    def holds_open(self) -> bool:
        """Whether anything that is not over holds a reading."""


Its_contra = TypeVar("Its_contra", contravariant=True)


class Housing(Protocol[Its_contra]):
    """A row for each meter of some policies."""

    prefix: str
    """Which their ids begin with."""

    @property
    def branches(self) -> Sequence[Closing]:
        """One for each policy."""

    def move_in(self, meters: list[str]) -> int:
        """Give meters their rows; answer with the first that they have in their stores."""

    def restore(self, meters: list[str], records: Sequence[Sequence[bytes]], clock: int) -> int:
        """Take over what the ledger knows of its first meters; answer as `move_in` does."""

    def holdings(self) -> list[Holding]:
        """What there is, for each policy."""

    def carry(self, branch: Its_contra, rows: Integers) -> Step | None:
        """Write down open panes of these rows; None: there are none, or nothing is written."""

    def decide(self, branch: Its_contra, closed: Closed) -> Step | None:
        """Let a policy take in panes that have closed; None: nothing changes by that."""
