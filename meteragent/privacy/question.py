"""What is asked of a window, and what its answer may lose."""

from dataclasses import dataclass
from decimal import Decimal

from meteragent.errors import InvalidSetting
from meteragent.privacy.calendar import AnyWindows
from meteragent.privacy.exact import NANO, decimal, per_watt_text
from meteragent.privacy.query import Query, query
from meteragent.privacy.units import format_duration
from meteragent.privacy.windows import Windows

MOST_KEPT = 768
"""Slots of a window of several panes, where they are kept one by one until it is over."""


@dataclass(frozen=True, slots=True)
class Question:
    """A query and the loss per watt, in whole nano-units, of each of its answers."""

    query: Query
    nano: int

    @property
    def epsilon(self) -> str:
        """The exact loss per watt, as it is published."""
        return per_watt_text(self.nano)


def question(name: str, epsilon: Decimal | int | str, radius: Decimal | int | str) -> Question:
    """Ask `name` with odds within `exp(epsilon)` for worlds `radius` watts apart."""
    return Question(query(name), per_watt("epsilon", epsilon, radius))


def per_watt(field: str, loss: Decimal | int | str, radius: Decimal | int | str) -> int:
    """A loss at a radius, as whole nano-units per watt, rounded down once and for all."""
    numerator, denominator = decimal(field, loss).as_integer_ratio()
    watts = decimal("radius", radius, example="100")
    if watts <= 0:
        raise InvalidSetting("radius", "must be positive", 'write for example "100W"')
    over, under = watts.as_integer_ratio()
    units = numerator * under * NANO // (denominator * over)
    if units <= 0:
        raise InvalidSetting(
            field, "is below 0.000000001 per watt of radius", 'write for example "1"'
        )
    return units


def refuse_unanswerable(asked: Query, windows: AnyWindows, panes: Windows, *, filled: bool) -> None:
    """Refuse what windows of several panes do not keep: they are kept as sums and extremes."""
    if asked.part:
        _refuse_crooked_parts(asked, windows, panes, filled=filled)
    slots = windows.slots * panes.interval // (asked.part or panes.interval)
    if asked.needs_slots and windows.slots > panes.slots and slots > MOST_KEPT:
        kept = "averages" if asked.part else "readings"
        longer = "longer parts" if asked.part else f"{asked.name}(15m)"
        raise InvalidSetting(
            "queries",
            f"asks {asked.name} of {slots} {kept}, and only {MOST_KEPT} are kept one by one",
            f"ask {longer}, avg, min or max, or write shorter windows",
        )


def _refuse_crooked_parts(
    asked: Query, windows: AnyWindows, panes: Windows, *, filled: bool
) -> None:
    pane, part = panes.size, asked.part
    advice = f'write parts of "{format_duration(pane)}"'
    if not windows.is_cut_by(part) or (pane % part and part % pane):
        problem = f"asks {asked.name}: such parts do not divide windows and their panes"
        raise InvalidSetting("queries", problem, advice)
    if part % panes.interval:
        problem = f"asks {asked.name}: such parts are no whole number of intervals"
        raise InvalidSetting("queries", problem, advice)
    if filled:
        problem = f"asks {asked.name}, and averages of parts are not filled"
        raise InvalidSetting("queries", problem, "leave fill out, or ask avg, min or max")
