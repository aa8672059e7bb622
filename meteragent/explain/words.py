"""Numbers as people read them: three digits, units spelled out, thousands set apart."""

import re
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Decimal
from math import exp, log

from meteragent.privacy.calendar import AnyWindows, CalendarWindows
from meteragent.privacy.units import LITRE_AN_HOUR, VAR, WATT, format_duration, format_watts

NO_BOUND = log(1e6)
"""Odds beyond a million to one bound nothing that people would call a doubt."""
DAY = 86_400_000
IN_WORDS = {WATT: ("watt", "watts"), VAR: ("var", "var")}
IN_WORDS[LITRE_AN_HOUR] = ("litre an hour", "litres an hour")
"""What is said of one of a base unit, and of several."""


def protects(log_odds: float) -> bool:
    """Whether a bound protects in any sense that people would recognise."""
    return log_odds <= NO_BOUND


def factor(log_odds: float) -> str:
    """`x1.65`, rounded up, so that what is said always holds; or `no bound`."""
    return f"x{significant(exp(log_odds), ROUND_CEILING)}" if protects(log_odds) else "no bound"


def at_most(log_odds: float) -> str:
    """What a bound does to odds, in words."""
    if protects(log_odds):
        return f"by at most {factor(log_odds)}"
    return "without a bound that protects"


def share_text(share: float) -> str:
    """`52.1 %`, rounded up, so that what is said always holds."""
    return f"{(Decimal(share) * 100).quantize(Decimal('0.1'), ROUND_CEILING).normalize():f} %"


def watts_text(watts: float, unit: str = WATT) -> str:
    """Three digits of a power, or of what else is measured in this base unit."""
    return f"{significant(watts)} {unit}"


def significant(number: float, rounding: str = ROUND_HALF_EVEN) -> str:
    """Three significant digits, of at most six decimal places."""
    exact = Decimal(number)
    last = max(exact.adjusted() - 2, -6)
    text = f"{exact.quantize(Decimal(1).scaleb(last), rounding):,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def listed(names: Iterable[str]) -> str:
    """`avg, p95 and max`."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def so_many(number: int, what: str) -> str:
    """So many of them: 1 meter, 12 meters."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def time_text(milliseconds: int) -> str:
    """`1 h 30 min`; a single day as `24 h`."""
    return "24 h" if milliseconds == DAY else _spaced(format_duration(milliseconds))


def window_text(windows: AnyWindows) -> str:
    """`15 min`, or `a month in Europe/Paris`."""
    if isinstance(windows, CalendarWindows):
        return f"a {windows.unit} in {windows.zone.name}"
    return time_text(windows.size)


def span_text(windows: AnyWindows, count: int) -> str:
    """How long so many windows in a row take: `1 h 30 min`, or `12 months`."""
    if isinstance(windows, CalendarWindows):
        return so_many(count, windows.unit)
    return time_text(windows.ahead(count))


def power_text(power: Decimal, unit: str = WATT) -> str:
    """`50 W`, or what else is measured in this base unit, exactly."""
    return re.sub(r"(?<=\d)(?=[A-Za-z])", " ", format_watts(power, unit), count=1)


def _spaced(text: str) -> str:
    parts = re.findall(r"([-\d.]+)([A-Za-z]+)", text)
    return " ".join(f"{number} {'min' if unit == 'm' else unit}" for number, unit in parts)
