"""The loop for groups: lines of homes in, releases of their groups out, from the same ledger."""

from collections.abc import Sequence
from typing import Any

from meteragent.files.group_accounts import GroupAccounts
from meteragent.files.job import Job
from meteragent.stream.group_pipeline import GroupPipeline
from meteragent.stream.meters import Assigned
from meteragent.stream.pipeline import Pipeline
from meteragent.stream.position import Position
from meteragent.stream.releases import Step


class GroupJob(Job):
    """One input of homes, of whose groups releases are made as far as it goes."""

    _groups: GroupAccounts

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
        self._groups = GroupAccounts(self._config, self._ledger, self._members)
        for remark in self._groups.remarks:
            self._say(remark)
        return self._groups.pipeline(self._key, start)

    def _note(self, step: Step) -> None:
        self._groups.note(step)

    def _spent(self, pipeline: Pipeline) -> dict[str, Any]:
        assert isinstance(pipeline, GroupPipeline)  # noqa: S101 - it is what `_built` has built
        return self._groups.spent(pipeline)
