"""The obvious twin of `panes.Store`: one reading after the other, in dictionaries."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from meteragent.privacy.policy import Policy


@dataclass
class Meter:
    next: int
    cells: dict[int, int] = field(default_factory=dict)  # slot -> level
    first: dict[int, tuple[int, int]] = field(default_factory=dict)  # pane -> (offset, clock)


Pane = tuple[int, int, tuple[int | None, ...]]  # (row, pane, levels)


class Panes:
    """Fed one reading at a time; `level` None is a slot without a value."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.length = policy.panes.size
        self.slots = self.length // policy.interval
        self.meters: dict[int, Meter] = {}
        self.clock = -(2**62)
        self.accepted = self.late = self.duplicate = 0

    def first_open(self, passed: int) -> int:
        pane = passed // self.length
        assert pane * self.length <= passed < (pane + 1) * self.length
        return pane

    def add(
        self, row: int, time: int, level: int | None, offset: int, before: int
    ) -> tuple[list[Pane], list[Pane]]:
        """What the reading closes of its own meter's panes, and what the clock then closes."""
        self.clock = max(self.clock, time)
        own = self.first_open(time - self.policy.grace)
        idle = self.first_open(self.clock - self.policy.grace - self.policy.idle)
        pane = time // self.length
        if row not in self.meters and pane < max(own, idle):
            self.late += 1
            return [], self.advance(self.clock)
        meter = self.meters.setdefault(row, Meter(max(own, idle)))
        of_its_own = self.policy.presence == "public"
        closed = list(self.close(row, own)) if of_its_own else [], self.advance(self.clock)
        if pane < meter.next:
            self.late += 1
            return closed
        meter.first.setdefault(pane, (offset, before))
        slot = time // self.policy.interval
        if level is not None:
            if slot in meter.cells:
                self.duplicate += 1
            else:
                self.accepted += 1
                meter.cells[slot] = level
        return closed

    def advance(self, clock: int) -> list[Pane]:
        self.clock = max(self.clock, clock)
        idle = self.first_open(self.clock - self.policy.grace - self.policy.idle)
        closed = [w for row in sorted(self.meters) for w in self.close(row, idle)]
        return sorted(closed, key=lambda pane: (pane[1], pane[0]))

    def close(self, row: int, until: int) -> Iterator[Pane]:
        meter = self.meters[row]
        while meter.next < until:
            if self.policy.presence == "public" and not meter.cells:
                meter.next = until
                self.drop(meter)
                break
            begin = meter.next * self.slots
            levels = tuple(meter.cells.get(begin + s) for s in range(self.slots))
            if self.policy.presence == "private" or any(x is not None for x in levels):
                yield row, meter.next, levels
            meter.next += 1
            self.drop(meter)

    def drop(self, meter: Meter) -> None:
        begin = meter.next * self.slots
        meter.cells = {s: level for s, level in meter.cells.items() if s >= begin}
        meter.first = {b: record for b, record in meter.first.items() if b >= meter.next}

    def oldest(self) -> tuple[int, int] | None:
        return min((f for m in self.meters.values() for f in m.first.values()), default=None)
