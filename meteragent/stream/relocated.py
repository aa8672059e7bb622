"""Homes and groups that are spread over other partitions from now on: how far they have come.

Where all partitions of homes have told of the same panes under a policy, and groups are decided
as far, nothing is lost: sums that are open go on as they stand, and each partition tells of the
pane that follows. Where they have not, a pane would hold some homes twice and others never: so the
windows that are open are lost, and said to be.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from meteragent.privacy.policy import Policy
from meteragent.stream.panes import UNKNOWN
from meteragent.stream.partial_homes import ANEW, passed, written_passed
from meteragent.stream.total_pipeline import settled_in, written
from meteragent.stream.totals import Settled


@dataclass(frozen=True, slots=True)
class Come:
    """How far all partitions of homes have come, by the name of what sums are called."""

    furthest: dict[str, int]
    """The first pane that none of them has told of ..."""
    alike: frozenset[str]
    """... and under which policies all have told of those before it."""

    @classmethod
    def of(cls, records: Iterable[bytes | None]) -> "Come":
        """As their ledgers have it."""
        told = [passed(record) for record in records if record is not None]
        furthest, alike = {}, set()
        for way in set().union(*told):
            known = {its[way] for its in told if way in its} - {UNKNOWN}
            if known:
                furthest[way] = max(known)
            if len(known) == 1 and all(way in its for its in told):
                alike.add(way)
        return cls(furthest, frozenset(alike))

    def of_homes(self) -> bytes | None:
        """What ledgers of homes are to say from now on; None: nobody has told of anything."""
        if not self.furthest:
            return None
        known = {way: pane for way, pane in self.furthest.items() if way in self.alike}
        return written_passed(known) if known else ANEW

    def of_groups(
        self,
        policies: Mapping[str, Policy],
        kept: Sequence[bytes | None],
        sources: int,
        *,
        drained: bool,
    ) -> bytes:
        """What ledgers of groups are to say, where homes have so many partitions from now on.

        `kept` is what they say now; `drained`: all that was told is decided.
        """
        settled = [settled_in(record) for record in kept]
        found = {}
        for way, policy in policies.items():
            its = [one[way] for one in settled if way in one]
            reached = {one.done for one in its} - {UNKNOWN}
            if way in self.furthest or reached:
                done = max([*reached, self.furthest.get(way, UNKNOWN)])
                anew = Settled.anew(policy, int(policy.panes.start(done)), sources)
                goes_on = drained and self._goes_on(way, reached)
                found[way] = anew._replace(lost=_lost(its)) if goes_on else anew
        return written(found)

    def _goes_on(self, way: str, reached: set[int]) -> bool:
        """Whether all have told of the same panes, and groups are decided as far."""
        return way in self.alike and reached <= {self.furthest[way]}


def _lost(settled: Iterable[Settled]) -> int:
    """The last pane of which something is lost already, or UNKNOWN."""
    return max((one.lost for one in settled), default=UNKNOWN)
