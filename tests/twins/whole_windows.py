"""The obvious twin of `folds.Folds`: every window as a whole, in memory until it is over."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from meteragent.privacy.policy import Policy
from meteragent.privacy.query import Query
from meteragent.privacy.units import duration
from tests.twins.hours import is_of
from tests.twins.queries import average, percentile

Answer = tuple[int, int, int, int, tuple[int, ...]]
"""(row, window, for how many slots a reading came, how many hold something, the answers)"""


@dataclass
class Meter:
    first: int
    """The first pane that was told of, or could have been."""
    over: int
    """Up to which pane all are."""
    cells: dict[int, int] = field(default_factory=dict)  # slot -> level


class WholeWindows:
    """Told of each pane that has closed, one after the other."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.meters: dict[int, Meter] = {}

    def take(self, row: int, pane: int, levels: Sequence[int | None]) -> None:
        """A pane has closed."""
        meter = self.meters.setdefault(row, Meter(pane, pane))
        begin = pane * self.policy.panes.slots
        meter.cells |= {begin + nth: x for nth, x in enumerate(levels) if x is not None}

    def reach(self, row: int, first: int, until: int) -> list[Answer]:
        """All panes of a row have closed from one on up to another: which windows are over?"""
        meter = self.meters.setdefault(row, Meter(first, first))
        windows, pane = self.policy.windows, self.policy.panes.size
        window = windows.first_open(meter.over * pane) - 1
        found = []
        while windows.end(window) <= until * pane:
            if windows.end(window) > meter.over * pane:
                slots = self.content(meter, window)
                held = len(slots) - slots.count(None)
                heard = sum(slot in meter.cells for slot in self.slots(window))
                if held or self.policy.presence == "private":
                    found.append(
                        (row, window, heard, held, self.answers(windows.start(window), slots))
                    )
            window += 1
        meter.over = max(meter.over, until)
        return found

    def content(self, meter: Meter, window: int) -> list[int | None]:
        """What its slots hold, those that are filled among them."""
        slots: list[int | None] = []
        last = None
        for slot in self.slots(window):
            if slot in meter.cells:
                last = slot
            known = last is not None and slot - last <= self.policy.carried
            slots.append(meter.cells[last] if last is not None and known else None)
        return slots

    def slots(self, window: int) -> range:
        """Which ones it has."""
        windows, interval = self.policy.windows, self.policy.interval
        return range(windows.start(window) // interval, windows.end(window) // interval)

    def answers(self, start: int, slots: list[int | None]) -> tuple[int, ...]:
        """One for each query; those of an empty window are of no meaning."""
        if all(slot is None for slot in slots):
            return ()
        return tuple(self.answer(q.query, start, slots) for q in self.policy.questions)

    def answer(self, query: Query, start: int, slots: list[int | None]) -> int:
        """Of readings, or of the averages of parts; of all hours, or of some. Of none it is 0."""
        name, _, hours = query.name.removesuffix("]").partition("[")
        of, _, part = name.removesuffix(")").partition("(")
        many = duration("part", part) // self.policy.interval if part else 1
        found = []
        for first in range(0, len(slots), many):
            held = [slot for slot in slots[first : first + many] if slot is not None]
            begins = start + first * self.policy.interval
            if held and (not hours or is_of(hours, self.policy.asking.zone.name, begins)):
                found.append(average(held))
        return NAMED[of](found) if found else 0


NAMED: dict[str, Callable[[Sequence[int]], int]] = {
    "avg": average,
    "min": min,
    "max": max,
    "median": percentile(Fraction(50)),
}
