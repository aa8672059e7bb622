"""Where accounts are kept: what is written down of meters, of groups, and of who is in these."""

import asyncio
import json
import os
from argparse import Namespace
from decimal import Decimal
from typing import NamedTuple

from meteragent.config import Config, load
from meteragent.config.works import Work, works
from meteragent.errors import InvalidSetting, LedgerDamaged
from meteragent.explain.accounts import Shelf
from meteragent.explain.guarantee import Guarantee
from meteragent.explain.in_all import Shelved
from meteragent.files.ledger import LedgerFile, look
from meteragent.privacy.group import GroupPolicy
from meteragent.privacy.members import Membership
from meteragent.privacy.published import policy_of
from meteragent.stream.meters import normal

RADIUS = Decimal(100)
"""At which epsilon is told where no configuration says another: its default."""


class Books(NamedTuple):
    """All that is written down."""

    config: Config | None
    meters: Shelved
    groups: Shelved
    members: list[Membership]
    """Which memberships take effect."""

    def name_of(self, meter: str) -> str:
        """By which it is known here."""
        normalises = self.config is not None and self.config.agent.normalise_ids
        return normal(meter) if normalises and meter not in self.groups.records else meter

    def knows_home(self, name: str) -> bool:
        """Whether it is a home: one that has an account, or is in a group."""
        return name in self.meters.records or any(one.home == name for one in self.members)

    @property
    def every(self) -> list[Shelved]:
        """Those of meters and of groups that there are policies for."""
        return [kept for kept in (self.meters, self.groups) if kept.shelves]


def books(arguments: Namespace, meter: str | None = None) -> Books:
    """What a command's arguments name; of meters, all or one."""
    config = load(arguments.config, os.environ) if arguments.config else None
    if arguments.ledger is not None:
        kept = look(arguments.ledger)
        meters, groups = _shelves(config) if config else _only_shelf(kept)
        return Books(
            config, Shelved(meters, kept.accounts), Shelved(groups, kept.groups), kept.members
        )
    if config is None:
        raise InvalidSetting("-c", "is missing", "name the configuration, or an SQLite --ledger")
    return asyncio.run(_from_kafka(config, meter))


async def _from_kafka(config: Config, meter: str | None) -> Books:
    from meteragent.kafka import ledger_topic as topic  # noqa: PLC0415 - aiokafka takes its time
    from meteragent.kafka.clients import Clients  # noqa: PLC0415
    from meteragent.kafka.memberships import MembersTopic, planned  # noqa: PLC0415

    own, (meters, groups) = works(config), _shelves(config)
    of_meters: dict[str, bytes] = {}
    of_groups: dict[str, bytes] = {}
    members: list[Membership] = []
    if Work.METERS in own:
        clients = Clients(own[Work.METERS].kafka)
        asked = topic.everybody(clients) if meter is None else topic.of_meter(clients, meter)
        of_meters = await asked
    if Work.GROUPS in own:
        of_groups = await topic.everybody(Clients(own[Work.GROUPS].kafka))
        told = await MembersTopic(config, Clients(config.kafka)).read()
        members = [*planned(config, told.memberships).members]
    return Books(config, Shelved(meters, of_meters), Shelved(groups, of_groups), members)


def _shelves(config: Config) -> tuple[list[Shelf], list[Shelf]]:
    """Those of meters, and those of groups."""
    meters, groups = (
        [Shelf(s.match, s.guarantee) for s in tables] for tables in (config.policy, config.group)
    )
    return meters, groups


def _only_shelf(kept: LedgerFile) -> tuple[list[Shelf], list[Shelf]]:
    """The policy that a file was written under, if it was but one: of meters, or of groups."""
    try:
        documents = {name: json.loads(text) for name, text in kept.policies.items()}
        paying = {name: one for name, one in documents.items() if "tier" not in one}
        policies = {name: policy_of(one) for name, one in paying.items()}
    except (ValueError, KeyError, TypeError, ArithmeticError):
        raise LedgerDamaged("the ledger holds a policy that this version does not know") from None
    if len(policies) != 1:
        raise InvalidSetting(
            "--ledger",
            f"was kept under {len(policies)} policies",
            "name the configuration with -c",
        )
    [(name, policy)] = policies.items()
    if policy.id != name:
        raise LedgerDamaged("the ledger holds a policy that does not match its id")
    shelves = [Shelf("", Guarantee(name, policy, RADIUS))]
    return ([], shelves) if isinstance(policy, GroupPolicy) else (shelves, [])
