"""Time zones as numbers, from the data that is installed with the agent, and no other.

A machine's own data are as old as its last update: two instances would cut two days apart where
one does not know yet what a parliament has decided. `tzdata` is pinned as all else is. What is
read is what clocks show in the `YEARS`; before, they are taken to be as far ahead of UTC as at the
beginning of the first year, and behind them as at the end of the last.
"""

from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.resources import files
from zoneinfo import ZoneInfo

from meteragent.errors import InvalidSetting
from meteragent.privacy.zone import Zone

YEARS = range(1980, 2101)
_PACKAGE = "tzdata"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY, _MILLISECOND = timedelta(days=1), timedelta(milliseconds=1)


@cache
def names() -> frozenset[str]:
    """Of all zones there are."""
    return frozenset((files(_PACKAGE) / "zones").read_text("utf-8").split())


@cache
def zone(name: str) -> Zone:
    """What its clocks show in the `YEARS`. InvalidSetting: there is none of this name."""
    if name not in names():
        raise InvalidSetting(
            "timezone", "is not a known time zone", 'write for example "Europe/Paris"'
        )
    with files(_PACKAGE).joinpath("zoneinfo", *name.split("/")).open("rb") as data:
        clocks = ZoneInfo.from_file(data, name)
    day = datetime(YEARS.start, 1, 1, tzinfo=UTC)
    last, known = datetime(YEARS.stop, 1, 1, tzinfo=UTC), _ahead(clocks, day)
    offsets = [(_milliseconds(day - _EPOCH), known)]
    while day < last:
        following = day + _DAY
        if _ahead(clocks, following) != known:
            change = _change(clocks, day, following)
            known = _ahead(clocks, change)
            offsets.append((_milliseconds(change - _EPOCH), known))
        day = following
    return Zone(name, tuple(offsets))


def _change(clocks: ZoneInfo, before: datetime, after: datetime) -> datetime:
    """The second at which they change between these times."""
    while after - before > timedelta(seconds=1):
        middle = before + (after - before) // 2
        middle = middle.replace(microsecond=0)
        if _ahead(clocks, middle) == _ahead(clocks, before):
            before = middle
        else:
            after = middle
    return after


def _ahead(clocks: ZoneInfo, moment: datetime) -> int:
    """How far ahead of UTC they are."""
    return _milliseconds(moment.astimezone(clocks).utcoffset() or timedelta())


def _milliseconds(span: timedelta) -> int:
    return span // _MILLISECOND
