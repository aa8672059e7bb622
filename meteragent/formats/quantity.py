"""What numbers measure: units of power, and of energy that an interval took -> watts.

The average power of an interval is its energy by its length: a ratio of integers, which is worked
out as one. What a float says is the shortest decimal that it stands for, as it was written. The
result is cut, not rounded, to whole milliwatts: so a reading comes to the very level that its exact
ratio belongs to, on every grid whose steps and bounds have at most two decimals of a watt.
"""

import re
from fractions import Fraction
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from meteragent.errors import InvalidSetting
from meteragent.privacy.arrays import Integers, Mask
from meteragent.privacy.domain import Watts

Kind = Literal["power", "energy", "register"]
UnitName = Literal["W", "kW", "MW", "mWh", "Wh", "kWh", "MWh"]

_POWER: dict[str, Fraction] = {"W": Fraction(1), "kW": Fraction(1000), "MW": Fraction(10**6)}
_ENERGY: dict[str, Fraction] = {
    "mWh": Fraction(1, 1000),
    "Wh": Fraction(1),
    "kWh": Fraction(1000),
    "MWh": Fraction(10**6),
}
UNITS = {"power": _POWER, "energy": _ENERGY, "register": _ENERGY}
"""What numbers of each kind may be in, and what that is in watts or watt-hours."""

_HOUR = 3_600_000
_PARTS = (10**9, 10**12)
"""Numbers are mostly whole multiples of such a part of their unit."""
_MILLI = 1000
_WHOLE = 2**52
_LARGEST = float(np.finfo(np.float64).max)
_SPELLED = {"watt": "W", "watts": "W", "kilowatt": "kW", "kilowatts": "kW", "wh": "Wh", "w": "W"}
_SPELLED |= {unit.lower(): unit for unit in get_args(UnitName) if unit[0] != "m"}
_READING_TYPE = re.compile(r"[0-9]+(\.-?[0-9]+){17}")
_CONSUMED = {("4", flow) for flow in ("0", "1", "4")}
"""What an interval took (`deltaData`): of no direction, forward, or net."""
_CODED = {("0", "72"): "Wh", ("3", "72"): "kWh", ("6", "72"): "MWh"}
_SAID = re.compile(r"(?<![a-z])(k|M)?w(h?)(?![a-z])", re.IGNORECASE)


def unit_of(text: str) -> str | None:
    """The unit that data mean by this, however they spell it; None: none that is known here.

    Why `mWh` is told from `MWh` and no other letters are: these two alone differ by their case.
    It may be a code of IEC 61968-9 for intervals: then it says multiplier and unit at its end.
    """
    text = text.strip(" \t[]()")
    if _READING_TYPE.fullmatch(text):
        _, _, _, accumulation, flow, *_, multiplier, unit, _ = text.split(".")
        return _CODED.get((multiplier, unit)) if (accumulation, flow) in _CONSUMED else None
    return text if text in get_args(UnitName) else _SPELLED.get(text.lower())


def unit_in(name: str) -> str | None:
    """The unit that the name of a column or field says its numbers are in, if it says one."""
    found = [unit_of(one[0]) for one in _SAID.finditer(name.replace("_", " "))]
    return found[-1] if found else None


class Quantity:
    """Numbers of one kind in one unit."""

    def __init__(self, kind: Kind = "power", unit: str = "W", interval: int = _HOUR) -> None:
        """`interval`: the milliseconds that an energy was taken in."""
        if unit not in UNITS[kind]:
            known = f"write one of {', '.join(UNITS[kind])}"
            other = next((k for k in ("power", "energy") if unit in UNITS[k]), None)
            instead = f'write kind = "{other}", or {known[6:]} here' if other else known
            raise InvalidSetting("unit", f"is no unit of {_NAMES[kind]}", instead)
        self.kind, self.unit = kind, unit
        self.ratio = UNITS[kind][unit]
        """Watts in one of it."""
        if kind == "energy":
            self.ratio *= Fraction(_HOUR, interval)
        self._cuts = [(parts, self.ratio * _MILLI / parts) for parts in _PARTS]

    def watts(self, values: NDArray[np.float64]) -> Watts:
        """What they are in watts; NaN stays what it is.

        What is no float any more becomes the largest one.
        """
        if self.kind == "power":
            if self.ratio == 1:
                return values
            with np.errstate(over="ignore"):
                return np.clip(values * float(self.ratio), -_LARGEST, _LARGEST)
        watts = np.empty(values.shape)
        left = np.arange(len(values))
        for parts, cut in self._cuts:
            left = left[~self._cut(values, left, parts, cut, watts)]
        for at in left.tolist():
            watts[at] = self._one(float(values[at]))
        return watts

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
        if value != value:  # noqa: PLR0124 - NaN alone is not itself
            return value
        milliwatts = Fraction(repr(value)) * self.ratio * _MILLI // 1
        try:
            return milliwatts / _MILLI
        except OverflowError:
            return _LARGEST if value > 0 else -_LARGEST


_NAMES = {"power": "power", "energy": "energy", "register": "energy"}
