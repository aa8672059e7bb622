"""Readings of the homes of one partition in, what they add to the sums of groups out.

    readings -> panes of homes -> what they add up to here -> partials, for those who decide groups

Nothing is decided here, charged, or released. A pane is told of when the partition's clock has
closed it of every home, once, and whoever was heard: so whoever adds up what all partitions tell
knows how far each has come. What has been told, and what each home drew last, is written down in
the same transaction; fed again from there, another instance tells of the panes that follow.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from meteragent.privacy.entropy import NoiseKey
from meteragent.stream.group_pipeline import MOST_HOMES
from meteragent.stream.meters import Assigned, AssignedGroups
from meteragent.stream.order import Course
from meteragent.stream.partial_homes import PASSED, PartialHomes
from meteragent.stream.pipeline import Pipeline
from meteragent.stream.position import START, Position
from meteragent.stream.readings import Reason
from meteragent.stream.releases import Step
from meteragent.stream.roster import Roster


class HomePipeline(Pipeline):
    """The homes of groups that have their readings in one partition."""

    def __init__(
        self,
        assigned: Sequence[AssignedGroups],
        key: NoiseKey,
        rosters: Mapping[str, Roster],
        partition: int,
        *,
        max_skew: int,
        is_member: Callable[[str], bool],
        normalise_ids: bool = False,
        start: Position = START,
    ) -> None:
        """`rosters`: who is in the groups of each prefix; `is_member`: whether a home is in any."""
        self._homes = PartialHomes(assigned, key, rosters, partition)
        self._is_member = is_member
        self._ticks = frozenset(start.ticks)
        self._relives = True
        """Whether all that was fed, and all time that passed, was fed and passed before."""
        super().__init__(
            assigned,
            key,
            max_skew=max_skew,
            max_meters=MOST_HOMES,
            normalise_ids=normalise_ids,
            start=start,
        )

    def _astray(self, meter: str) -> Reason | None:
        if meter in self._homes.places:
            return None
        return Reason.WRONG_PARTITION if self._is_member(meter) else Reason.NO_GROUP

    def _housed(self, assigned: Sequence[Assigned], key: NoiseKey) -> list[PartialHomes]:
        del assigned, key
        return [self._homes]

    def restore(self, accounts: Mapping[str, bytes]) -> None:
        """Take over what the ledger knows of homes. Precondition: nothing was fed yet."""
        self._homes.go_on(accounts, self._clock)
        super().restore({home: its for home, its in accounts.items() if home in self._homes.places})

    def due(self, now: int) -> bool:
        """Whether a partition has more to tell."""
        return self._homes.due(now)

    def tick(self, now: int) -> Iterator[Step]:
        """Let the wall clock close panes. Precondition: every record there is was fed."""
        self._relives &= (self._processed, now) in self._ticks
        yield from super().tick(now)

    def _come_to(self, clock: int, course: Course) -> Iterator[Step]:
        self._relives &= self._processed <= self._known_until
        if self._relives:
            self._homes.relive(clock)
        yield from super()._come_to(clock, course)
        for panes, step in self._homes.passed(clock, course):
            yield replace(step, place=self._places[panes], stage=self._stage)


__all__ = ["PASSED", "HomePipeline"]
