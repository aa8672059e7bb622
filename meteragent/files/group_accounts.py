"""Groups, as a ledger knows them: taken up at the start, and written down with every commit."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from meteragent.config import Config
from meteragent.files.ledger import SqliteLedger
from meteragent.privacy.entropy import NoiseKey
from meteragent.privacy.members import Membership
from meteragent.stream.group_homes import without_members
from meteragent.stream.group_pipeline import GroupPipeline
from meteragent.stream.meters import longest_prefix
from meteragent.stream.position import START, Position
from meteragent.stream.releases import Step


class GroupAccounts:
    """Who is in which group, what groups have spent, and what their homes drew last."""

    def __init__(
        self,
        config: Config,
        ledger: SqliteLedger,
        listed: Sequence[Membership],
        *,
        counts: bool = False,
    ) -> None:
        """Let those of the memberships that are listed take effect that may.

        `counts`: homes show registers, whatever the configuration says of its input.
        """
        self._groups = [replace(g, of_registers=g.of_registers or counts) for g in config.groups]
        prefixes = [one.prefix for one in config.groups]
        asked = [m for m in listed if longest_prefix(prefixes, m.group) is not None]
        self._config, self._ledger = config, ledger
        self._frontier = ledger.frontier()
        self._plan = config.reserve.plan(asked, ledger.members(), self._frontier)
        self._is_planned = False
        """Whether the ledger says so already."""
        self._accounts: dict[str, bytes] = {}
        self._homes: dict[str, bytes] = {}
        self.remarks = [*self._remarks(listed, asked)]
        """What is not as it was asked for, in words."""

    def _remarks(self, listed: Sequence[Membership], asked: Sequence[Membership]) -> Iterator[str]:
        for name in without_members(self._config.groups, asked):
            yield (
                f"[[group]] {name}: no home is in a group that it is for: nothing is released by it"
            )
        if left := {m.group for m in listed} - {m.group for m in asked}:
            yield f"{len(left)} groups have no [[group]]: nothing is released of them"
        if self._plan.later or self._plan.refused:
            yield (
                f"{self._plan.later} memberships begin later than they are to, and "
                f"{self._plan.refused} never do: all groups that a home is in, or was in within "
                "the horizon, must fit what it reserves for them (budget.groups)"
            )

    def pipeline(self, key: NoiseKey, start: Position = START) -> GroupPipeline:
        """One that goes on from what the ledger knows."""
        agent = self._config.agent
        pipeline = GroupPipeline(
            self._groups,
            key,
            self._plan.members,
            max_skew=agent.max_skew,
            normalise_ids=agent.normalise_ids,
            start=start,
        )
        pipeline.restore(self._ledger.homes(), self._ledger.groups())
        return pipeline

    def note(self, step: Step) -> None:
        """Keep what is to be written down."""
        self._accounts.update(step.accounts)
        self._homes.update(step.homes)

    def spent(self, pipeline: GroupPipeline) -> dict[str, Any]:
        """What the ledger is to say of groups from now on: each thing once."""
        groups, self._accounts = self._accounts, {}
        homes, self._homes = self._homes, {}
        members, self._is_planned = None if self._is_planned else self._plan.members, True
        return {
            "groups": groups,
            "homes": homes,
            "members": members,
            "frontier": max(self._frontier, pipeline.frontier),
        }
