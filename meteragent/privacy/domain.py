"""The grid of a meter: watts, or what else is measured, <-> levels.

A reading is known to the mechanism only as its *level*: `minimum + resolution * level`, with
`level in 0..top`. Readings lie on every `finer`-th level alone, `step` watts apart; answers may
lie on any. Where no resolution is set, it is the step. The grid is fixed by the policy, public, and
never learned from data.
"""

from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from math import ceil

import numpy as np
from numpy.typing import NDArray

from meteragent.errors import InvalidSetting
from meteragent.privacy import native
from meteragent.privacy.exact import decimal, type_of_decimal
from meteragent.privacy.units import WATT

ABSENT = -1
"""The level of a slot that holds no reading."""

Levels = NDArray[np.signedinteger]
Watts = NDArray[np.float64]

MOST_LEVELS = 1_000_000
FINER = 3  # decimal digits below the settings' own to which a reading is read
EXACT_IN_FLOAT = 2**50
AT_ONCE = 2**13  # readings, so that temporaries stay in the processor's cache


@dataclass(frozen=True, slots=True)
class Domain:
    """Watts from `minimum` to `maximum`, readings in steps of `step`, all exact decimals.

    Negative bounds describe export. Rounding is half *up* everywhere on the grid, so that
    moving a reading by whole steps moves its level by exactly as many: half-to-even would
    not (see `mechanism.md`, claim 1).
    """

    minimum: Decimal
    maximum: Decimal
    step: Decimal
    resolution: Decimal
    """What one level is: a step, or a whole part of it."""
    unit: str
    """What all of them are in: the base unit of what is measured."""
    finer: int = field(init=False)
    """How many levels a step is."""
    top: int = field(init=False)
    dtype: np.dtype[np.signedinteger] = field(init=False)
    _scale: int = field(init=False, repr=False)
    _minimum: int = field(init=False, repr=False)
    _step: int = field(init=False, repr=False)
    _resolution: int = field(init=False, repr=False)

    def __init__(
        self,
        minimum: type_of_decimal,
        maximum: type_of_decimal,
        step: type_of_decimal,
        resolution: type_of_decimal | None = None,
        unit: str = WATT,
    ) -> None:
        low = decimal("minimum", minimum, example="0")
        high = decimal("maximum", maximum, example="24000")
        width = decimal("step", step, example="10")
        fine = width if resolution is None else decimal("resolution", resolution, example="0.1")
        _refuse_nonsense(low, high, width, unit)
        _refuse_crooked_levels(high - low, width, fine, unit)
        top = int((high - low) / fine)
        scale = 10 ** (FINER + max(0, *(_decimals(x) for x in (low, high, width, fine))))
        if max(abs(low), abs(high)) * scale >= EXACT_IN_FLOAT:
            raise InvalidSetting(
                "step" if fine == width else "resolution",
                "is too fine for bounds this wide",
                "use fewer decimal places",
            )
        dtype = smallest(top)
        for name, value in (
            ("minimum", low),
            ("maximum", high),
            ("step", width),
            ("resolution", fine),
            ("unit", unit),
            ("finer", int(width / fine)),
            ("top", top),
            ("dtype", dtype),
            ("_scale", scale),
            ("_minimum", int(low * scale)),
            ("_step", int(width * scale)),
            ("_resolution", int(fine * scale)),
        ):
            object.__setattr__(self, name, value)

    def levels(self, watts: Watts) -> Levels:
        """Clip and round half up onto the readings' grid; NaN means absent.

        Precondition: readings are decimals of at most three digits below the settings' own
        (finer ones are first rounded to that, half up). Postcondition: moving every reading
        by `j` steps within the bounds moves every level by `j` steps. Why integers: a float
        division puts ties on either side, and two readings one step apart could land two
        steps apart.
        """
        levels = np.empty(watts.shape, dtype=self.dtype)
        if native.fits():
            bounds = float(self.minimum), float(self.maximum), float(self._scale)
            steps = self._step - 2 * self._minimum, 2 * self._step, self.finer
            native.wheel.levels(np.ravel(watts), levels.reshape(-1), bounds, steps)
            return levels
        for first in range(0, len(watts), AT_ONCE):
            levels[first : first + AT_ONCE] = self._levels(watts[first : first + AT_ONCE])
        return levels

    def _levels(self, watts: Watts) -> Levels:
        absent = np.isnan(watts)
        some_absent = absent.any()
        present = np.where(absent, 0.0, watts) if some_absent else watts
        within = np.clip(present, float(self.minimum), float(self.maximum))
        within *= self._scale
        within += 0.5
        fine = np.floor(within, out=within).astype(np.int64)
        fine *= 2
        fine += self._step - 2 * self._minimum
        fine //= 2 * self._step
        if self.finer > 1:
            fine *= self.finer
        levels: Levels = fine.astype(self.dtype)
        if some_absent:
            levels[absent] = ABSENT
        return levels

    def levels_apart(self, watts: Decimal | float) -> int:
        """How many levels apart readings can be that are at most `watts` apart: whole steps."""
        return min(ceil(Fraction(watts) / Fraction(self.step)) * self.finer, self.top)

    def watts(self, levels: Levels | NDArray[np.float64]) -> Watts:
        """The watts of levels (fractions of a level too); absent is the caller's business."""
        watts: Watts = (self._minimum + levels.astype(np.float64) * self._resolution) / self._scale
        return watts


def smallest(top: int) -> np.dtype[np.signedinteger]:
    """The smallest type that holds levels up to this one, and ABSENT."""
    return np.dtype(next(t for t in (np.int8, np.int16, np.int32) if top <= np.iinfo(t).max))


def held(levels: Levels) -> int:
    """How many readings hold a value."""
    return int(np.count_nonzero(levels != ABSENT))


def _refuse_nonsense(low: Decimal, high: Decimal, width: Decimal, unit: str) -> None:
    if width <= 0:
        raise InvalidSetting("step", "must be positive", 'write for example "10"')
    if low >= high:
        raise InvalidSetting("minimum", "must be below maximum", 'write for example "0"')
    if (high - low) % width:
        raise InvalidSetting(
            "step", f"does not divide the range of {high - low} {unit}", 'write for example "10"'
        )


def _refuse_crooked_levels(span: Decimal, width: Decimal, fine: Decimal, unit: str) -> None:
    """A coarser grid would break the promise: what moves by less than a level moves it by more."""
    instead = f'leave it out, or write a whole part of {width}, for example "{width / 10:f}"'
    if fine <= 0:
        raise InvalidSetting("resolution", "must be positive", instead)
    if fine > width:
        problem = (
            f"is coarser than the step of {width} {unit}, so that answers could move farther than"
        )
        raise InvalidSetting("resolution", f"{problem} the readings do", instead)
    if width % fine:
        problem = f"does not divide the step of {width} {unit}"
        raise InvalidSetting("resolution", problem, instead)
    if span / fine > MOST_LEVELS:
        name = "step" if fine == width else "resolution"
        raise InvalidSetting(name, f"makes more than {MOST_LEVELS} levels", f"use a larger {name}")


def _decimals(number: Decimal) -> int:
    exponent = number.normalize().as_tuple().exponent
    assert isinstance(exponent, int)  # noqa: S101 - finite by construction; for the type checker
    return max(0, -exponent)
