"""Displays: from how bright the picture is to watts at the plug.

The ranges are those of published plug recordings: tubes of 90 to 130 W, dynamic backlights
between 55 and 145 W, and static ones that move by a watt.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

Series = NDArray[np.float64]
"""series[programme, second]"""


@dataclass(frozen=True, slots=True)
class Display:
    """A kind of television set."""

    name: str
    meaning: str
    watts: Callable[[Series], Series]


def _tube(luminance: Series) -> Series:
    """The beam's current grows with the light."""
    return 70 + 110 * luminance


def _dynamic(luminance: Series) -> Series:
    """The backlight follows the picture with a lag, and is fully on for bright ones."""
    wanted = np.clip(0.25 + 1.6 * luminance, 0, 1)
    return 45 + 95 * _lagging(wanted, seconds=1.5)


def _oled(luminance: Series) -> Series:
    """Every pixel shines by itself, until the limiter dims a picture that is too bright."""
    return 40 + 170 * np.minimum(luminance**1.3, 0.55)


def _static(luminance: Series) -> Series:
    """The backlight is always on; only the panel's drivers see the picture."""
    return 130 + 0.25 * luminance


def _lagging(wanted: Series, seconds: float) -> Series:
    keep = np.exp(-1 / seconds)
    begun = keep * wanted[..., :1]
    lagging: Series = lfilter([1 - keep], [1, -keep], wanted, axis=-1, zi=begun)[0]
    return lagging


CRT = Display("CRT", "a tube", _tube)
LCD = Display("LCD", "a panel with dynamic backlight", _dynamic)
OLED = Display("OLED", "a large panel of which every pixel shines by itself", _oled)
STATIC = Display("static", "a panel with static backlight", _static)
DISPLAYS = (CRT, LCD, OLED, STATIC)
TELLING = (CRT, LCD, OLED)
"""Those whose power follows the picture."""
