"""What a pipeline asks of those who keep the panes of its meters: cohorts, or homes of groups."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

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
        """Give meters their rows; answer with the first."""

    def restore(self, meters: list[str], records: Sequence[Sequence[bytes]], clock: int) -> None:
        """Take over what the ledger knows of its first meters."""

    def holdings(self) -> list[Holding]:
        """What there is, for each policy."""

    def carry(self, branch: Its_contra, before: int, most: int) -> Step | None:
        """Write down open panes that need a record from before this one; None: none does."""

    def decide(self, branch: Its_contra, closed: Closed) -> Step | None:
        """Let a policy take in panes that have closed; None: nothing changes by that."""
