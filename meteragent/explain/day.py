"""A day of a home that nobody lives in: made up, so that pictures show nobody's readings.

It has what days have: a fridge, kettles, a washing machine, an oven, light, and an evening of
television. It is the same every time.
"""

import numpy as np

from meteragent.privacy.domain import Watts

MINUTE, MINUTES = 60_000, 1440
_ALWAYS = 95
_USES = (
    # from minute, for minutes, watts
    (395, 4, 2000),
    (402, 6, 900),
    (405, 45, 180),
    (570, 4, 2000),
    (600, 20, 2050),
    (620, 70, 310),
    (745, 12, 1400),
    (960, 4, 2000),
    (1010, 380, 140),
    (1110, 45, 2300),
    (1205, 4, 2000),
)
_FRIDGE = (17, 55, 20, 100)
"""Its first minute, from one cycle to the next, how long each lasts, and its watts."""
_TV = (1170, 1335, 110, 28)
"""From and until when, its watts, and how far the picture moves them."""


def minutes() -> Watts:
    """The watts of each minute of the day."""
    at = np.arange(MINUTES)
    watts = np.full(MINUTES, float(_ALWAYS))
    first, apart, lasting, power = _FRIDGE
    watts += power * (((at - first) % apart) < lasting)
    for begin, lasting, power in _USES:
        watts[begin : begin + lasting] += power
    begin, end, power, moved = _TV
    picture = np.sin(at * 1.7) + np.sin(at * 0.61 + 2) + np.sin(at * 0.233 + 1)
    watts[begin:end] += (power + moved * picture / 3)[begin:end]
    return np.round(watts)


def readings(interval: int, slots: int) -> Watts:
    """The averages of so many intervals in a row from midnight on; day after day is the same."""
    energy = np.concatenate([[0.0], np.cumsum(minutes())])
    bounds = np.arange(slots + 1) * (interval / MINUTE)
    days, within = np.divmod(bounds, MINUTES)
    total = days * energy[-1] + np.interp(within, np.arange(MINUTES + 1), energy)
    watts: Watts = np.diff(total) * (MINUTE / interval)
    return watts
