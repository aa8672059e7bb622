"""The obvious twin of `window.Store`: one reading after the other, in dictionaries."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from meteragent.privacy.policy import Policy


@dataclass
class Meter:
    next: int
    cells: dict[int, int] = field(default_factory=dict)  # slot -> level
    first: dict[int, tuple[int, int]] = field(default_factory=dict)  # block -> (offset, clock)


Window = tuple[int, int, tuple[int | None, ...]]  # (row, window, levels)


class Windows:
    """Fed one reading at a time; `level` None is a slot without a value."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.meters: dict[int, Meter] = {}
        self.clock = -(2**62)
        self.accepted = self.late = self.duplicate = 0

    def first_open(self, passed: int) -> int:
        window = (passed - self.policy.size) // self.policy.hop + 1
        assert window * self.policy.hop + self.policy.size > passed
        assert (window - 1) * self.policy.hop + self.policy.size <= passed
        return window

    def add(
        self, row: int, time: int, level: int | None, offset: int, before: int
    ) -> tuple[list[Window], list[Window]]:
        """What the reading closes of its own meter's windows, and what the clock then closes."""
        self.clock = max(self.clock, time)
        own = self.first_open(time - self.policy.grace)
        idle = self.first_open(self.clock - self.policy.grace - self.policy.idle)
        block = time // self.policy.hop
        if row not in self.meters and block < max(own, idle):
            self.late += 1
            return [], self.advance(self.clock)
        meter = self.meters.setdefault(row, Meter(max(own, idle)))
        of_its_own = self.policy.presence == "public"
        closed = list(self.close(row, own)) if of_its_own else [], self.advance(self.clock)
        if block < meter.next:
            self.late += 1
            return closed
        meter.first.setdefault(block, (offset, before))
        slot = time // self.policy.interval
        if level is not None:
            if slot in meter.cells:
                self.duplicate += 1
            else:
                self.accepted += 1
                meter.cells[slot] = level
        return closed

    def advance(self, clock: int) -> list[Window]:
        self.clock = max(self.clock, clock)
        idle = self.first_open(self.clock - self.policy.grace - self.policy.idle)
        closed = [w for row in sorted(self.meters) for w in self.close(row, idle)]
        return sorted(closed, key=lambda window: (window[1], window[0]))

    def close(self, row: int, until: int) -> Iterator[Window]:
        meter = self.meters[row]
        hop_slots = self.policy.hop // self.policy.interval
        while meter.next < until:
            if self.policy.presence == "public" and not meter.cells:
                meter.next = until
                self.drop(meter)
                break
            begin = meter.next * hop_slots
            levels = tuple(meter.cells.get(begin + s) for s in range(self.policy.slots))
            if self.policy.presence == "private" or any(x is not None for x in levels):
                yield row, meter.next, levels
            meter.next += 1
            self.drop(meter)

    def drop(self, meter: Meter) -> None:
        begin = meter.next * (self.policy.hop // self.policy.interval)
        meter.cells = {s: level for s, level in meter.cells.items() if s >= begin}
        meter.first = {b: record for b, record in meter.first.items() if b >= meter.next}

    def oldest(self) -> tuple[int, int] | None:
        return min((f for m in self.meters.values() for f in m.first.values()), default=None)
