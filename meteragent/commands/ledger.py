"""`ledger`: what meters have spent, and where it is written down."""

import asyncio
import csv
import json
import os
import re
import sys
import time
from argparse import Namespace
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from meteragent.commands.exit_codes import Exit
from meteragent.commands.layout import Row, columns, table
from meteragent.config import Config, load
from meteragent.config.works import OF_METERS, Work, works
from meteragent.errors import InvalidSetting, LedgerDamaged
from meteragent.explain.accounts import (
    Account,
    Shelf,
    Statement,
    accounts,
    dearest,
    statements,
    totals,
)
from meteragent.explain.guarantee import Guarantee
from meteragent.explain.words import IN_WORDS, power_text, time_text
from meteragent.files.ledger import LedgerFile, look
from meteragent.privacy.exact import per_watt_text
from meteragent.privacy.group import GroupPolicy
from meteragent.privacy.ledger import NEVER
from meteragent.privacy.published import policy_of

RADIUS = Decimal(100)
"""At which epsilon is told where no configuration says another: its default."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def run(arguments: Namespace) -> Exit:
    """Show accounts, or move them."""
    return ACTIONS[arguments.action](arguments)


def _migrate(arguments: Namespace) -> Exit:
    """Move accounts to where their meters' readings are now."""
    from meteragent.kafka.clients import Clients  # noqa: PLC0415 - aiokafka takes its time to load
    from meteragent.kafka.migrate import migrate  # noqa: PLC0415

    config = load(arguments.config, os.environ)
    config.refuse_groups(*OF_METERS)
    now, key = int(time.time() * 1000), config.agent.noise_key()
    clients = Clients(config.kafka)
    done = asyncio.run(migrate(config, key, clients, now, gather=arguments.gather))
    if done.windows:
        sys.stdout.write(f"{done.windows} windows closed before\n")
    if done.elsewhere:
        sys.stdout.write(f"{done.elsewhere} records rejected before: wrong_partition\n")
    sys.stdout.write(f"{done.accounts} accounts moved\n")
    return Exit.OK


def _show(arguments: Namespace) -> Exit:
    shelves, records = _kept(arguments, arguments.meter)
    record = records.get(arguments.meter)
    if record is None:
        raise InvalidSetting(
            "METER", "has no account here", "write an id that `meteragent ledger top` knows"
        )
    found = statements(shelves, arguments.meter, record)
    if arguments.csv:
        header, rows = ("policy", *_HISTORY), [row for one in found for row in _history(one)]
        return _write_csv([header, *rows])
    sys.stdout.write("\n".join(map(_said_of, found)))
    return Exit.OK


def _top(arguments: Namespace) -> Exit:
    if arguments.count < 1:
        raise InvalidSetting("--count", "is below 1", "write for example 10")
    found = _accounts(*_kept(arguments))
    return _write((_TOP, *map(_spent, dearest(found, arguments.count))), arguments)


def _totals(arguments: Namespace) -> Exit:
    shelves, records = _kept(arguments)
    rows = (
        (
            total.shelf.name,
            str(total.meters),
            str(total.exhausted),
            *_amounts(total.shelf, total.spent, total.remaining),
        )
        for total in totals(shelves, _accounts(shelves, records))
    )
    return _write((("policy", "meters", "exhausted", *_AMOUNTS), *rows), arguments)


def _accept_loss(arguments: Namespace) -> Exit:
    """Go on where the ledger was lost."""
    from meteragent.kafka.clients import Clients  # noqa: PLC0415 - as above
    from meteragent.kafka.loss import accept_loss  # noqa: PLC0415

    config = load(arguments.config, os.environ)
    config.refuse_groups(*OF_METERS)
    now, key = int(time.time() * 1000), config.agent.noise_key()
    clients = Clients(config.kafka)
    since = asyncio.run(accept_loss(config, key, clients, now, confirmed=arguments.yes))
    for partition, moment in since.items():
        sys.stdout.write(
            f"partition {partition}: accounts begin anew, nothing before {_moment(moment)} is "
            "released any more\n"
        )
    if not since:
        sys.stdout.write("nothing was lost\n")
    return Exit.OK


ACTIONS = {
    "accept-loss": _accept_loss,
    "migrate": _migrate,
    "show": _show,
    "top": _top,
    "totals": _totals,
}


# Where accounts are kept.


def _kept(arguments: Namespace, meter: str | None = None) -> tuple[list[Shelf], dict[str, bytes]]:
    """The policies, and the records of all meters, or of one."""
    config = load(arguments.config, os.environ) if arguments.config else None
    if arguments.ledger is not None:
        kept = look(arguments.ledger)
        shelves = _shelves(config) if config else [_only_shelf(kept)]
        of_groups = any(isinstance(shelf.policy, GroupPolicy) for shelf in shelves)
        return shelves, kept.groups if of_groups else kept.accounts
    if config is None:
        raise InvalidSetting("-c", "is missing", "name the configuration, or an SQLite --ledger")
    own = works(config)[Work.METERS if config.policy else Work.GROUPS]
    return _shelves(config), asyncio.run(_from_kafka(own, meter))


async def _from_kafka(config: Config, meter: str | None) -> dict[str, bytes]:
    from meteragent.kafka import ledger_topic as topic  # noqa: PLC0415 - as above
    from meteragent.kafka.clients import Clients  # noqa: PLC0415

    clients = Clients(config.kafka)
    return await (topic.everybody(clients) if meter is None else topic.of_meter(clients, meter))


def _shelves(config: Config) -> list[Shelf]:
    """Those of meters; of groups, where there are no others."""
    return [Shelf(s.match, s.guarantee) for s in config.policy or config.group]


def _only_shelf(kept: LedgerFile) -> Shelf:
    """The policy that a file was written under, if it was but one."""
    try:
        documents = {name: json.loads(text) for name, text in kept.policies.items()}
        paying = {name: one for name, one in documents.items() if "tier" not in one}
        policies = {name: policy_of(one) for name, one in paying.items()}
    except (ValueError, KeyError, TypeError, ArithmeticError):
        raise LedgerDamaged("a policy in the ledger is not one that is known here") from None
    if len(policies) != 1:
        raise InvalidSetting(
            "--ledger",
            f"was kept under {len(policies)} policies",
            "name the configuration with -c",
        )
    [(name, policy)] = policies.items()
    if policy.id != name:
        raise LedgerDamaged("a policy in the ledger is not the one that its id is of")
    return Shelf("", Guarantee(name, policy, RADIUS))


def _accounts(shelves: list[Shelf], records: dict[str, bytes]) -> list[Account]:
    found = accounts(shelves, records)
    if others := len(records) - len({account.meter for account in found}):
        sys.stderr.write(f"meteragent: {others} accounts are of meters that no policy is for\n")
    return found


# How they are told.

_ID = re.compile("[0-9a-f]{32}")

_AMOUNTS = ("radius_watts", "spent", "remaining", "spent_per_watt", "remaining_per_watt")
_TOP = ("meter", "policy", *_AMOUNTS, "decided_until")


def _amounts(shelf: Shelf, spent: int, remaining: int) -> Row:
    return (
        f"{shelf.guarantee.radius.normalize():f}",
        shelf.epsilon(spent),
        shelf.epsilon(remaining),
        per_watt_text(spent),
        per_watt_text(remaining),
    )


def _spent(account: Account) -> Row:
    amounts = _amounts(account.shelf, account.spent, account.remaining)
    return (_shown(account.meter), account.shelf.name, *amounts, _moment(account.until))


_HISTORY = ("start", "spent", "spent_per_watt")


def _history(found: Statement) -> Iterable[Row]:
    shelf = found.account.shelf
    for start, nano in found.history:
        yield (shelf.name, _moment(start), shelf.epsilon(nano), per_watt_text(nano))


def _said_of(found: Statement) -> str:
    """What is spent of one policy's share, for people."""
    account, shelf = found.account, found.account.shelf
    digest = "" if shelf.name == shelf.policy.id else f" ({shelf.policy.id})"
    told = [
        f"{_shown(account.meter)}: policy {shelf.name}{digest}",
        f"windows are decided until {_moment(account.until)}",
        "",
        *table(_balance(account), columns()),
    ]
    if found.refresh:
        when, nano = found.refresh
        told.append(
            f"next refresh: {shelf.epsilon(nano)} ({per_watt_text(nano)} per "
            f"{IN_WORDS[shelf.policy.domain.unit][0]}) from the window of {_moment(when)} on"
        )
    history = [row[1:] for row in _history(found)]
    told += ["", *table([_HISTORY, *history], columns())]
    return "".join(f"{line}\n" for line in told)


def _balance(account: Account) -> Iterable[Row]:
    shelf, policy = account.shelf, account.shelf.policy
    unit = policy.domain.unit
    yield (
        f"in {time_text(policy.horizon)}",
        f"epsilon at {power_text(shelf.guarantee.radius, unit)}",
        f"per {IN_WORDS[unit][0]}",
    )
    amounts = {"spent": account.spent, "remaining": account.remaining, "budget": policy.budget}
    for name, nano in amounts.items():
        yield (name, shelf.epsilon(nano), per_watt_text(nano))


def _moment(milliseconds: int) -> str:
    """As RFC 3339."""
    if milliseconds == NEVER:
        return "never"
    moment = _EPOCH + timedelta(milliseconds=milliseconds)
    form = "milliseconds" if milliseconds % 1000 else "seconds"
    return moment.isoformat(timespec=form).replace("+00:00", "Z")


def _shown(meter: str) -> str:
    """An id that does nothing to a terminal."""
    return meter if meter.isprintable() else ascii(meter)


def _brief(cell: str) -> str:
    """A policy's id, where it has no other name, is long."""
    return f"{cell[:8]}…" if _ID.fullmatch(cell) else cell


def _write(rows: Iterable[Row], arguments: Namespace) -> Exit:
    """All for programs; for people, what a line has room for."""
    if arguments.csv:
        return _write_csv(rows)
    header, *body = rows
    kept = [place for place, name in enumerate(header) if not name.endswith("_per_watt")]
    titles = [name.replace("_", " ") for name in header]
    lines = table(([_brief(row[place]) for place in kept] for row in (titles, *body)), columns())
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return Exit.OK


def _write_csv(rows: Iterable[Row]) -> Exit:
    csv.writer(sys.stdout, lineterminator="\n").writerows(rows)
    return Exit.OK
