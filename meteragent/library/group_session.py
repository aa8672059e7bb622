"""One run over one ledger whose releases are those of groups: readings of their homes in."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from meteragent.errors import InvalidSetting
from meteragent.files.group_accounts import GroupAccounts
from meteragent.library.listed import GroupsLike, listed
from meteragent.library.plan import KeyLike, PolicyPlan
from meteragent.library.session import Session
from meteragent.privacy.members import Membership
from meteragent.stream.group_pipeline import GroupPipeline
from meteragent.stream.meters import Assigned
from meteragent.stream.releases import Step


class GroupSession(Session):
    """Readings of homes, protected as sums of the groups that they are in."""

    _groups: GroupAccounts
    _pipeline: GroupPipeline

    def __init__(self, members: Sequence[Membership], *arguments: Any, **more: Any) -> None:  # noqa: ANN401 - as Session's
        """`members`: which homes are in which groups; the rest is as in `Session`."""
        self._members = members
        super().__init__(*arguments, **more)

    @property
    def _released(self) -> Sequence[Assigned]:
        return self._config.groups

    def _built(self) -> GroupPipeline:
        self._groups = GroupAccounts(self._config, self._ledger, self._members, counts=self._counts)
        self.tallied.remarks += self._groups.remarks
        return self._groups.pipeline(self._key)

    def _note(self, step: Step) -> None:
        self._groups.note(step)

    def _spent(self) -> dict[str, Any]:
        return self._groups.spent(self._pipeline)


def begun(
    plan: PolicyPlan,
    key: KeyLike,
    ledger: str | Path | None,
    groups: "GroupsLike | None",
    *,
    timezone: str,
    by_meter: bool = False,
    counts: bool = False,
) -> Session:
    """A run over meters, or over the groups that are named. InvalidSetting: the plan has none.

    `counts`: values are what registers show.
    """
    config = plan.config
    if groups is None:
        if not config.policy:
            problem = "is missing, and the plan is for groups only"
            raise InvalidSetting(
                "groups", problem, "say which homes are in which: meter_id, group_id"
            )
        return Session(plan, key, ledger, by_meter=by_meter, counts=counts)
    if not config.group:
        problem, instead = "is given, and the plan is for meters", "make one with ma.group_policy"
        raise InvalidSetting("groups", problem, instead)
    members = listed(groups, timezone=timezone, normalise_ids=config.agent.normalise_ids)
    return GroupSession(members, plan, key, ledger, by_meter=by_meter, counts=counts)
