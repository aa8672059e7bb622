"""Settings with units <-> exact numbers: durations, powers and plain decimals.

Reading is strict, so that a slip is an error and not another setting: `15M` is no duration,
`24KW` is no power. Writing is the inverse of reading.

A policy is about one quantity, and counts it in that one's base unit: power in watts, reactive
power in var, the flow of water or gas in litres an hour. Nothing else depends on which one it is:
where the code says watts, the base unit of the policy's quantity is meant.
"""

import re
from decimal import Decimal
from typing import Literal, get_args

from meteragent.errors import InvalidSetting
from meteragent.privacy.exact import decimal, type_of_decimal

MILLISECONDS = {
    "d": 86_400_000,
    "h": 3_600_000,
    "m": 60_000,
    "s": 1_000,
    "ms": 1,
}
"""Units of time, largest first."""

Measured = Literal["power", "reactive", "flow"]
"""What a policy is about."""
SIZES: dict[Measured, dict[str, Decimal]] = {
    "power": {"MW": Decimal(1_000_000), "kW": Decimal(1_000), "W": Decimal(1)},
    "reactive": {"Mvar": Decimal(1_000_000), "kvar": Decimal(1_000), "var": Decimal(1)},
    "flow": {"m3/h": Decimal(1_000), "l/h": Decimal(1)},
}
"""Units of each quantity, the largest first and the base unit last."""
BASE: dict[Measured, str] = {one: [*SIZES[one]][-1] for one in get_args(Measured)}
WATT, VAR, LITRE_AN_HOUR = BASE.values()
_SIZES = {base: SIZES[one] for one, base in BASE.items()}
_AMOUNTS = {
    WATT: ("is not a power", 'write for example "24kW" or "10W"'),
    VAR: ("is not a reactive power", 'write for example "5kvar" or "10var"'),
    LITRE_AN_HOUR: ("is not a flow", 'write for example "3m3/h" or "10l/h"'),
}

_NUMBER = r"\d{1,15}(?:\.\d{1,9})?"
_PARTS = "".join(rf"(?:(?P<{unit}>{_NUMBER})\s?{unit}\s?)?" for unit in MILLISECONDS)
_DURATION = re.compile(rf"(?=\d){_PARTS}(?<!\s)", re.ASCII)
_POWERS = {
    base: re.compile(rf"(?P<number>[-+]?{_NUMBER})\s?(?P<unit>{'|'.join(sizes)})", re.ASCII)
    for base, sizes in _SIZES.items()
}
_WHOLE = re.compile(r"\d{1,18}", re.ASCII)


def duration(field: str, text: object) -> int:
    """Milliseconds of `"1h30m"`, `"0.5s"`, `"250ms"`: units in falling order, each once.

    A number without a unit is refused: seconds and milliseconds are both common.
    """
    found = _DURATION.fullmatch(text) if isinstance(text, str) else None
    if not found:
        raise InvalidSetting(field, "is not a duration", 'write for example "15m" or "1h30m"')
    total = sum(Decimal(found[unit] or 0) * length for unit, length in MILLISECONDS.items())
    if total % 1:
        raise InvalidSetting(field, "is finer than a millisecond", 'write for example "250ms"')
    return int(total)


def format_duration(milliseconds: int) -> str:
    """The shortest text of whole units that `duration` reads back."""
    parts, rest = [], milliseconds
    for unit, length in MILLISECONDS.items():
        count, rest = divmod(rest, length)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def watts(field: str, value: type_of_decimal, base: str = WATT) -> Decimal:
    """Watts of `"24kW"`, `"-10W"`, `"0.5kW"`, or of a number, which already is in watts.

    Where `base` is the unit of another quantity, it is that which is read, and nothing else.
    """
    found = _POWERS[base].fullmatch(value) if isinstance(value, str) else None
    if found:
        return decimal(field, Decimal(found["number"]) * _SIZES[base][found["unit"]])
    try:
        return decimal(field, value)
    except InvalidSetting:
        raise InvalidSetting(field, *_AMOUNTS[base]) from None


def format_watts(power: Decimal, base: str = WATT) -> str:
    """The text in the largest unit that needs no decimal places; `watts` reads it back."""
    for unit, size in _SIZES[base].items():
        if power and not power % size:
            return f"{power // size}{unit}"
    return f"{power.normalize():f}{base}"


def whole(field: str, value: object, *, example: str = "100") -> int:
    """A whole number, written as one or as its digits; `true` is none."""
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidSetting(field, "is not a whole number", f"write for example {example}")
    return value
