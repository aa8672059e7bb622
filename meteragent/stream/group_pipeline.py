"""Readings of homes in, releases of their groups out.

    readings -> panes of homes -> sums -> windows of groups -> budget -> queries and noise

All that holds of a pipeline of meters holds of this one, with groups for meters: whoever feeds it
the same records gets the same releases, in the same order, however they are cut into batches; and
goes on, from what is committed, as if nothing had happened.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from meteragent.privacy.entropy import NoiseKey
from meteragent.privacy.members import ALWAYS, Membership
from meteragent.stream.group_homes import GroupHomes
from meteragent.stream.meters import Assigned, AssignedGroups
from meteragent.stream.order import Course
from meteragent.stream.panes import UNKNOWN
from meteragent.stream.pipeline import Pipeline
from meteragent.stream.position import START, Position
from meteragent.stream.readings import Reason
from meteragent.stream.releases import Step

MOST_HOMES = 2**40
"""Who is a member is known; no others come in."""


class GroupPipeline(Pipeline):
    """The windows and accounts of groups, of which all homes are in one partition or file."""

    def __init__(
        self,
        assigned: Sequence[AssignedGroups],
        key: NoiseKey,
        members: Sequence[Membership],
        *,
        max_skew: int,
        normalise_ids: bool = False,
        start: Position = START,
    ) -> None:
        """`members` are those that take effect: see `privacy.members`."""
        self._homes = GroupHomes(assigned, key, members)
        super().__init__(
            assigned,
            key,
            max_skew=max_skew,
            max_meters=MOST_HOMES,
            normalise_ids=normalise_ids,
            start=start,
        )

    def _astray(self, meter: str) -> Reason | None:
        return None if meter in self._homes.places else Reason.NO_GROUP

    def _housed(self, assigned: Sequence[Assigned], key: NoiseKey) -> list[GroupHomes]:
        del assigned, key
        return [self._homes]

    def restore(
        self, accounts: Mapping[str, bytes], groups: Mapping[str, bytes] | None = None
    ) -> None:
        """Take over what the ledger knows of homes and groups. Precondition: nothing was fed yet.

        Readings of panes that are summed are late from the start, or were read before.
        """
        self._homes.go_on(groups or {}, self._clock)
        known = {home: its for home, its in accounts.items() if home in self._homes.places}
        super().restore(known)
        self._clock = max(self._clock, min(panes.left_behind for panes in self._homes.branches))

    @property
    def frontier(self) -> int:
        """Of windows that begin from then on nothing is summed: who is in them may change."""
        done = [panes for panes in self._homes.branches if panes.done != UNKNOWN]
        return max((panes.newest_start + 1 for panes in done), default=ALWAYS)

    def _come_to(self, clock: int, course: Course) -> Iterator[Step]:
        yield from super()._come_to(clock, course)
        for panes, step in self._homes.passed(clock, course):
            yield replace(step, place=self._places[panes], stage=self._stage)
