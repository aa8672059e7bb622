"""What numbers measure: units of power, and of energy that an interval took -> watts.

Reactive power and the flow of water or gas are read alike, and become var or litres an hour: what
energy is to power, litres are to litres an hour.

The average power of an interval is its energy by its length: a ratio of integers, which is worked
out as one. What a float says is the shortest decimal that it stands for, as it was written. The
result is cut, not rounded, to whole milliwatts: so a reading comes to the very level that its exact
ratio belongs to, on every grid whose steps and bounds have at most two decimals of a watt.
"""

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from meteragent.errors import InvalidSetting
from meteragent.privacy import native
from meteragent.privacy.arrays import Integers, Mask
from meteragent.privacy.domain import Watts
from meteragent.privacy.units import BASE, Measured

Kind = Literal["power", "energy", "register"]
UnitName = Literal[
    "W",
    "kW",
    "MW",
    "mWh",
    "Wh",
    "kWh",
    "MWh",
    "var",
    "kvar",
    "Mvar",
    "varh",
    "kvarh",
    "Mvarh",
    "l/h",
    "l/min",
    "l/s",
    "m3/h",
    "l",
    "m3",
]

_POWER: dict[Measured, dict[str, Fraction]] = {
    "power": {"W": Fraction(1), "kW": Fraction(1000), "MW": Fraction(10**6)},
    "reactive": {"var": Fraction(1), "kvar": Fraction(1000), "Mvar": Fraction(10**6)},
    "flow": {
        "l/h": Fraction(1),
        "l/min": Fraction(60),
        "l/s": Fraction(3600),
        "m3/h": Fraction(1000),
    },
}
_ENERGY: dict[Measured, dict[str, Fraction]] = {
    "power": {
        "mWh": Fraction(1, 1000),
        "Wh": Fraction(1),
        "kWh": Fraction(1000),
        "MWh": Fraction(10**6),
    },
    "reactive": {"varh": Fraction(1), "kvarh": Fraction(1000), "Mvarh": Fraction(10**6)},
    "flow": {"l": Fraction(1), "m3": Fraction(1000)},
}
_OF_KIND = {"power": _POWER, "energy": _ENERGY, "register": _ENERGY}
UNITS = {
    kind: {unit: ratio for sizes in of.values() for unit, ratio in sizes.items()}
    for kind, of in _OF_KIND.items()
}
"""What numbers of each kind may be in, and what that is in base units, or in those times hours."""
MEASURED: dict[str, Measured] = {
    unit: measured for of in (_POWER, _ENERGY) for measured, sizes in of.items() for unit in sizes
}
"""What each of these units is one of."""

_HOUR = 3_600_000
_PARTS = (10**9, 10**12)
"""Numbers are mostly whole multiples of such a part of their unit."""
_MILLI = 1000
_WHOLE = 2**52
_LARGEST = float(np.finfo(np.float64).max)
_SPELLED = {"watt": "W", "watts": "W", "kilowatt": "kW", "kilowatts": "kW", "wh": "Wh", "w": "W"}
_SPELLED |= {unit.lower(): unit for unit in MEASURED if unit != "mWh"}
_SPELLED |= dict.fromkeys(("litre", "litres", "liter", "liters"), "l")
_SPELLED |= {"m³": "m3", "m³/h": "m3/h"}
_READING_TYPE = re.compile(r"[0-9]+(\.-?[0-9]+){17}")
_CONSUMED = {("4", flow) for flow in ("0", "1", "4")}
"""What an interval took (`deltaData`): of no direction, forward, or net."""
_CODED = {("0", "72"): "Wh", ("3", "72"): "kWh", ("6", "72"): "MWh"}
_SAID = re.compile(
    r"(?<![a-z])(?:[km]?(?:w|var)h?|m[3³](?:/h)?|l/(?:h|min|s))(?![a-z])", re.IGNORECASE
)


def unit_of(text: str) -> str | None:
    """The unit that data mean by this, however they spell it; None: none that is known here.

    Why `mWh` is told from `MWh` and no other letters are: these two alone differ by their case.
    It may be a code of IEC 61968-9 for intervals: then it says multiplier and unit at its end.
    """
    text = text.strip(" \t[]()")
    if _READING_TYPE.fullmatch(text):
        _, _, _, accumulation, flow, *_, multiplier, unit, _ = text.split(".")
        return _CODED.get((multiplier, unit)) if (accumulation, flow) in _CONSUMED else None
    return text if text in MEASURED else _SPELLED.get(text.lower())


def spellings(unit: str) -> list[str]:
    """Ways in which data spell a unit; there may be others."""
    known = {form for text in (*MEASURED, *_SPELLED) for form in (text, text.upper())}
    return [text for text in sorted(known) if unit_of(text) == unit]


def unit_in(name: str) -> str | None:
    """The unit that the name of a column or field says its numbers are in, if it says one."""
    found = [unit_of(one[0]) for one in _SAID.finditer(name.replace("_", " "))]
    return found[-1] if found else None


class Quantity:
    """Numbers of one kind in one unit."""

    def __init__(self, kind: Kind = "power", unit: str = "W", interval: int = _HOUR) -> None:
        """`interval`: the milliseconds that an energy was taken in."""
        if unit not in UNITS[kind]:
            known = f"write one of {', '.join(_OF_KIND[kind][MEASURED.get(unit, 'power')])}"
            other = next((k for k in ("power", "energy") if unit in UNITS[k]), None)
            instead = f'write kind = "{other}", or {known[6:]} here' if other else known
            raise InvalidSetting("unit", f"is not a unit of {_NAMES[kind]}", instead)
        self.kind, self.unit = kind, unit
        self.measured = MEASURED[unit]
        self.ratio = UNITS[kind][unit]
        """Watts in one of it."""
        if kind == "energy":
            self.ratio *= Fraction(_HOUR, interval)
        self._cuts = [(parts, self.ratio * _MILLI / parts) for parts in _PARTS]
        self.ratios = [(parts, *cut.as_integer_ratio()) for parts, cut in self._cuts]

    @property
    def is_watts(self) -> bool:
        """Whether numbers are in watts as they stand."""
        return self.kind == "power" and self.ratio == 1

    def watts(self, values: NDArray[np.float64]) -> Watts:
        """What they are in watts; NaN stays what it is.

        What is no float any more becomes the largest one.
        """
        if self.is_watts:
            return values
        if self.kind == "power":
            with np.errstate(over="ignore", invalid="ignore"):  # a NaN may signal
                return np.clip(values * float(self.ratio), -_LARGEST, _LARGEST)
        watts: Watts
        left: Integers
        if native.fits():
            watts, left = native.wheel.watts(np.ascontiguousarray(values), self.ratios)
        else:
            watts, left = self.plain(values)
        for at in left.tolist():
            watts[at] = self._one(float(values[at]))
        return watts

    def plain(self, values: Watts) -> tuple[Watts, Integers]:
        """The watts of numbers that are whole multiples of a part, and which ones are not."""
        watts = values.copy()
        left = np.flatnonzero(values == values)  # noqa: PLR0124 - NaN alone is not itself
        for parts, cut in self._cuts:
            left = left[~self._cut(values, left, parts, cut, watts)]
        return watts, left

    def _cut(self, values: Watts, some: Integers, parts: int, cut: Fraction, watts: Watts) -> Mask:
        """Put watts where some values are whole numbers of parts; answer which of them are.

        Why that is exact: below 2**52 no two such numbers are one float. So where a float is the
        nearest one to a number of parts, that number is what was written.
        """
        mine = values[some]
        with np.errstate(over="ignore", invalid="ignore"):
            whole = np.rint(mine * parts)
            most = min(_WHOLE, (2**63 - 1) // cut.numerator)
            plain: Mask = (np.abs(whole) < most) & (whole / parts == mine)
        numbers = whole[plain].astype(np.int64)
        watts[some[plain]] = numbers * cut.numerator // cut.denominator / _MILLI
        return plain

    def _one(self, value: float) -> float:
        milliwatts = Fraction(repr(value)) * self.ratio * _MILLI // 1
        try:
            return milliwatts / _MILLI
        except OverflowError:
            return _LARGEST if value > 0 else -_LARGEST


_NAMES = {"power": "power", "energy": "energy", "register": "energy"}


def refuse_other_units(unit: str, tables: Mapping[str, Measured]) -> None:
    """Refuse to read in this unit what tables say is another quantity. InvalidSetting: one does."""
    for where, measured in tables.items():
        if MEASURED[unit] != measured:
            problem = f"is {unit}, and {where} is about {_CALLED[measured]}, in {BASE[measured]}"
            known = (*_POWER[measured], *_ENERGY[measured])
            raise InvalidSetting("unit", problem, f"write one of {', '.join(known)}")


_CALLED = {"power": "power", "reactive": "reactive power", "flow": "a flow"}
