"""The table that says which homes are in which groups: a CSV, read whole and strictly.

Columns `meter_id` and `group_id`, and where members come and go `from` and `until`: RFC 3339 with
a zone, or milliseconds since the epoch; where they are empty, a home is in its group from ever, or
for ever. Other columns are left alone, but for those that say who a feeder is in the table of
`--format lv-feeder`. Rows that come from elsewhere are judged as those of a file are.
"""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from meteragent.errors import FileRefused, InvalidSetting
from meteragent.formats.feeder_table import Feeder
from meteragent.formats.json_one import CONTROL, RFC3339, milliseconds
from meteragent.privacy.members import ALWAYS, FOR_EVER, Membership
from meteragent.stream.meters import normal

NEEDED, TIMES = ("meter_id", "group_id"), ("from", "until")
_ID = re.compile(rf"[^{CONTROL}]{{1,128}}")
_TIME = re.compile(RFC3339)
Taken = TypeVar("Taken")
Row = Mapping[str, str | None]


class Whereabouts(NamedTuple):
    """Where memberships are written, for those who are to find one of them."""

    name: str
    unit: str
    """In which its rows are counted."""
    error: type[FileRefused | InvalidSetting]

    def refused(self, number: int, problem: str, instead: str) -> FileRefused | InvalidSetting:
        """What is wrong with a row."""
        return self.error(f"{self.name}, {self.unit} {number}", problem, instead)


def read(path: Path, *, normalise_ids: bool = False) -> list[Membership]:
    """All memberships. FileRefused: what is wrong with the file, and in which line."""
    place = Whereabouts(str(path), "line", FileRefused)
    found = _table(
        path, lambda rows: [*checked(_numbered(rows), place, normalise_ids=normalise_ids)]
    )
    if not found:
        raise FileRefused(str(path), "names no home", "write a line for each home of each group")
    return found


def feeders(path: Path) -> dict[str, Feeder]:
    """What the same file says of who each group is. FileRefused: it says two things of one."""
    return _table(path, lambda rows: _feeders(path, rows))


def _table(path: Path, taken: "Callable[[csv.DictReader[str]], Taken]") -> Taken:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file, strict=True)
            missing = [name for name in NEEDED if name not in (rows.fieldnames or ())]
            if missing:
                instead = f"write a header with {' and '.join(NEEDED)}"
                raise FileRefused(str(path), f"has no column {missing[0]}", instead)
            return taken(rows)
    except OSError as error:
        problem = f"cannot be read ({error.strerror})"
        raise FileRefused(str(path), problem, "name a file that can") from None
    except UnicodeDecodeError:
        raise FileRefused(str(path), "is not UTF-8 text", "save it as UTF-8") from None
    except csv.Error:
        raise FileRefused(str(path), "is not a CSV table", "compare its quotes") from None


def _numbered(rows: "csv.DictReader[str]") -> Iterator[tuple[int, Row]]:
    for row in rows:
        yield rows.line_num, row


def checked(
    rows: Iterable[tuple[int, Row]], place: Whereabouts, *, normalise_ids: bool = False
) -> Iterator[Membership]:
    """The membership of each row; the first one that is none, or says one twice, is refused."""
    before: dict[tuple[str, str], list[tuple[int, int, int]]] = {}
    for number, row in rows:
        where = partial(place.refused, number)
        home, group = (_id(where, name, row[name]) for name in NEEDED)
        home = normal(home) if normalise_ids else home
        since, until = _time(where, "from", row, ALWAYS), _time(where, "until", row, FOR_EVER)
        if since >= until:
            raise where("ends before it begins", "compare from and until")
        its = before.setdefault((home, group), [])
        for first, begin, end in its:
            if since < end and begin < until:
                problem = f"says again what {place.unit} {first} says of this home and group"
                raise where(problem, "leave out one of the two")
        its.append((number, since, until))
        yield Membership(home, group, since, until)


def _feeders(path: Path, rows: "csv.DictReader[str]") -> dict[str, Feeder]:
    found: dict[str, Feeder] = {}
    for row in rows:
        where = partial(Whereabouts(str(path), "line", FileRefused).refused, rows.line_num)
        group = _id(where, "group_id", row["group_id"])
        own = Feeder(**{name: (row.get(name) or "").strip() for name in Feeder._fields})
        own = own if own.lv_feeder_id else own._replace(lv_feeder_id=group)
        if found.setdefault(group, own) != own:
            problem = "names another feeder for its group than an earlier line"
            raise where(problem, f"compare {', '.join(Feeder._fields)}")
    return found


_Where = Callable[[str, str], FileRefused | InvalidSetting]


def _id(where: _Where, name: str, value: str | None) -> str:
    if value is None or not _ID.fullmatch(value):
        problem = f"has no {name} of 1 to 128 characters"
        raise where(problem, "write one, without control characters")
    return value


def _time(where: _Where, name: str, row: Row, default: int) -> int:
    text = (row.get(name) or "").strip()
    if not text:
        return default
    try:
        if text.isascii() and text.isdigit():
            return int(text)
        if _TIME.fullmatch(text):
            return milliseconds(text)
    except ValueError:
        pass
    problem = f"has no time in the column {name}"
    raise where(problem, "write for example 2026-01-01T00:00:00Z")
