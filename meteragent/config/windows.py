"""From when to when windows last, as it is set: a duration, or a day, a week, a month of a zone."""

from typing import Any, get_args

from meteragent.config.zones import zone
from meteragent.errors import InvalidSetting
from meteragent.privacy.calendar import Calendar, Unit

LEAVE = "leave it out"


def lengths(
    window: int | str, interval: int, hop: int | None, offset: int, timezone: str | None
) -> dict[str, Any]:
    """What a policy's windows are made from. InvalidSetting: they make no sense."""
    unit = next((unit for unit in get_args(Unit) if unit == window), None)
    if unit is None:
        if timezone is not None:
            raise InvalidSetting("timezone", "is of days, weeks and months", LEAVE)
        return {"size": window, "hop": hop or window, "offset": offset}
    if timezone is None:
        raise InvalidSetting("timezone", "is missing", 'write for example "Europe/Paris"')
    if hop is not None:
        raise InvalidSetting("hop", f"is not for a {unit}, behind which comes the next one", LEAVE)
    return Calendar(unit, zone(timezone)).lengths(interval, offset)


def refuse_half_a_fill(fill: str | None, limit: int | None) -> None:
    """Refuse a way to fill slots without its limit, and the other way round."""
    if fill and not limit:
        raise InvalidSetting("fill_limit", "is missing", 'write for example "15m"')
    if limit and not fill:
        raise InvalidSetting("fill", "is missing", 'write "last", or leave out fill_limit')
