"""The loop for groups: lines of homes in, releases of their groups out, from the same ledger."""

from collections.abc import Sequence
from typing import Any

from meteragent.files.job import Job
from meteragent.privacy.members import MemberPlan
from meteragent.stream.group_pipeline import GroupPipeline
from meteragent.stream.meters import Assigned, longest_prefix
from meteragent.stream.pipeline import Pipeline
from meteragent.stream.position import Position
from meteragent.stream.releases import Step


class GroupJob(Job):
    """One input of homes, of whose groups releases are made as far as it goes."""

    _plan: MemberPlan
    _is_planned = False
    """Whether the ledger says so already."""
    _frontier: int
    _homes: dict[str, bytes]

    @property
    def _released(self) -> Sequence[Assigned]:
        """What is released: of groups."""
        return self._config.groups

    @property
    def _name(self) -> str:
        """By which the ledger knows how far groups have come in the input."""
        return f"{self._source.name}\n(groups)"

    def _built(self, start: Position) -> GroupPipeline:
        """The groups, with those in them who may be, as the ledger knows them."""
        config, ledger = self._config, self._ledger
        prefixes = [one.prefix for one in config.groups]
        asked = [m for m in self._members if longest_prefix(prefixes, m.group) is not None]
        groups = {m.group for m in self._members} - {m.group for m in asked}
        if groups:
            self._say(f"{len(groups)} groups have no [[group]]: nothing is released of them")
        self._frontier = ledger.frontier()
        self._plan = config.reserve.plan(asked, ledger.members(), self._frontier)
        if self._plan.later or self._plan.refused:
            self._say(
                f"{self._plan.later} memberships begin later than they are to, and "
                f"{self._plan.refused} never do: all groups that a home is in, or was in within "
                "the horizon, must fit what it reserves for them (budget.groups)"
            )
        self._homes = {}
        pipeline = GroupPipeline(
            config.groups,
            self._key,
            self._plan.members,
            max_skew=config.agent.max_skew,
            normalise_ids=config.agent.normalise_ids,
            start=start,
        )
        pipeline.restore(ledger.homes(), ledger.groups())
        return pipeline

    def _note(self, step: Step) -> None:
        super()._note(step)
        self._homes.update(step.homes)

    def _spent(self, pipeline: Pipeline) -> dict[str, Any]:
        assert isinstance(pipeline, GroupPipeline)  # noqa: S101 - it is what `_built` has built
        homes, self._homes = self._homes, {}
        members, self._is_planned = None if self._is_planned else self._plan.members, True
        return {
            "groups": self._accounts,
            "homes": homes,
            "members": members,
            "frontier": max(self._frontier, pipeline.frontier),
        }
