"""The obvious twin of `folds.Folds`: every window as a whole, in memory until it is over."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from meteragent.privacy.policy import Policy
from tests.twins.queries import average, percentile

Answer = tuple[int, int, int, tuple[int, ...]]
"""(row, window, how many slots hold something, the answers)"""


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
                present = self.content(meter, window)
                if present or self.policy.presence == "private":
                    found.append((row, window, len(present), self.answers(present)))
            window += 1
        meter.over = max(meter.over, until)
        return found

    def content(self, meter: Meter, window: int) -> list[int]:
        """What its slots hold, those that are filled among them."""
        windows, interval = self.policy.windows, self.policy.interval
        begin, end = windows.start(window) // interval, windows.end(window) // interval
        present, last = [], None
        for slot in range(begin, end):
            if slot in meter.cells:
                last = slot
            if last is not None and slot - last <= self.policy.carried:
                present.append(meter.cells[last])
        return present

    def answers(self, present: list[int]) -> tuple[int, ...]:
        """One for each query; those of an empty window are of no meaning."""
        if not present:
            return ()
        named: dict[str, Callable[[Sequence[int]], int]] = {
            "avg": average,
            "min": min,
            "max": max,
            "median": percentile(Fraction(50)),
        }
        return tuple(named[asked.query.name](present) for asked in self.policy.questions)
