"""`ledger`: what meters have spent, and where it is written down."""

import asyncio
import csv
import os
import re
import sys
import time
from argparse import Namespace
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from meteragent.commands.exit_codes import Exit
from meteragent.commands.kept import Books, books
from meteragent.commands.layout import Row, columns, table
from meteragent.config import load
from meteragent.config.allowance import allowance
from meteragent.errors import InvalidSetting
from meteragent.explain.accounts import (
    Account,
    Shelf,
    Statement,
    accounts,
    dearest,
    statements,
    totals,
)
from meteragent.explain.in_all import Shelved, in_all
from meteragent.explain.words import IN_WORDS, power_text, time_text
from meteragent.privacy.exact import epsilon_at, per_watt_text
from meteragent.privacy.ledger import NEVER

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def run(arguments: Namespace) -> Exit:
    """Show accounts, or move them."""
    return ACTIONS[arguments.action](arguments)


def _migrate(arguments: Namespace) -> Exit:
    """Move accounts to where their meters' readings are now."""
    # aiokafka takes its time to load
    from meteragent.kafka.migrate_groups import migrate_all  # noqa: PLC0415

    config = load(arguments.config, os.environ)
    now, key = int(time.time() * 1000), config.agent.noise_key()
    done = asyncio.run(migrate_all(config, key, now, gather=arguments.gather))
    if done.windows:
        sys.stdout.write(f"{done.windows} windows closed before\n")
    if done.elsewhere:
        sys.stdout.write(f"{done.elsewhere} records rejected before: wrong_partition\n")
    sys.stdout.write(f"{done.accounts} accounts moved\n")
    return Exit.OK


def _show(arguments: Namespace) -> Exit:
    """What an id has spent: a meter, a group, and a meter with all groups that it is in."""
    kept = books(arguments, arguments.meter)
    name = kept.name_of(arguments.meter)
    found = [*_statements(name, kept)]
    if not found and not kept.knows_home(name):
        raise InvalidSetting(
            "METER", "has no account here", "write an id that `meteragent ledger top` knows"
        )
    if arguments.csv:
        header, rows = ("policy", *_HISTORY), [row for one in found for row in _history(one)]
        return _write_csv([header, *rows])
    sys.stdout.write("\n".join([*map(_said_of, found), *_said_in_all(name, kept)]))
    return Exit.OK


def _statements(name: str, kept: Books) -> Iterator[Statement]:
    """Of a meter that is called so, and of a group."""
    for its in kept.every:
        if (record := its.records.get(name)) is not None:
            yield from statements(its.shelves, name, record)


def _said_in_all(name: str, kept: Books) -> Iterator[str]:
    """What is lost of a home by itself and by all of its groups, for people."""
    config = kept.config
    if config is None or not config.group or not kept.knows_home(name):
        return
    may = allowance(config)
    found = in_all(name, kept.meters, kept.groups, kept.members, may.reserve)
    radius, unit = may.radius, may.unit
    per = f"per {IN_WORDS[unit][0]}"
    rows: list[Row] = [("", f"epsilon at {power_text(radius, unit)}", per)]
    for loss in found.losses:
        of = "itself" if loss.group is None else f"in group {_shown(loss.group)}"
        rows.append((f"{of}, policy {loss.policy}", *_lost(loss.nano, radius)))
    rows.append(("in all", *_lost(found.spent, radius)))
    rows.append(("at most", *_lost(found.most, radius)))
    span = time_text(found.horizon)
    title = (
        f"{_shown(name)}: in all, by itself and by its groups, in the {span} until "
        f"{_moment(found.until)}"
    )
    yield "".join(f"{line}\n" for line in (title, "", *table(rows, columns())))


def _lost(nano: int, radius: Decimal) -> Row:
    return (f"{epsilon_at(nano, radius).normalize():f}", per_watt_text(nano))


def _top(arguments: Namespace) -> Exit:
    if arguments.count < 1:
        raise InvalidSetting("--count", "is below 1", "write for example 10")
    found = [one for kept in books(arguments).every for one in _accounts(kept)]
    return _write((_TOP, *map(_spent, dearest(found, arguments.count))), arguments)


def _totals(arguments: Namespace) -> Exit:
    rows = (
        (
            total.shelf.name,
            str(total.meters),
            str(total.exhausted),
            *_amounts(total.shelf, total.spent, total.remaining),
        )
        for kept in books(arguments).every
        for total in totals(kept.shelves, _accounts(kept))
    )
    return _write((("policy", "meters", "exhausted", *_AMOUNTS), *rows), arguments)


def _accept_loss(arguments: Namespace) -> Exit:
    """Go on where the ledger was lost."""
    from meteragent.kafka.loss import accept_all  # noqa: PLC0415 - as above

    config = load(arguments.config, os.environ)
    now, key = int(time.time() * 1000), config.agent.noise_key()
    since = asyncio.run(accept_all(config, key, now, confirmed=arguments.yes))
    for (ledger, partition), moment in since.items():
        told = (
            "sums of its homes begin anew, windows of their groups that were open are lost"
            if moment is None
            else f"accounts begin anew, nothing before {_moment(moment)} is released any more"
        )
        sys.stdout.write(f"{ledger}, partition {partition}: {told}\n")
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


def _accounts(kept: Shelved) -> list[Account]:
    found = accounts(*kept)
    if others := len(kept.records) - len({account.meter for account in found}):
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
