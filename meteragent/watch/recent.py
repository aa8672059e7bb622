"""What happened lately, for people who look at the status page: bounded, and gone on restart."""

from collections import deque
from dataclasses import dataclass, field

from meteragent.stream.releases import Withheld
from meteragent.watch.events import WindowsDecided

BIN_SECONDS = 10
BINS = 360
"""An hour."""
RATE_BINS = 3
"""Rates are those of half a minute."""
DELAYS = 512
UNASKED = (Withheld.COVERAGE, Withheld.LOST, Withheld.HOMES)
"""Why windows are withheld before the budget is asked."""
ERRORS = 20


@dataclass(slots=True)
class Bin:
    """What happened in a few seconds."""

    number: int
    records: int = 0
    late: int = 0
    shared: int = 0
    """Readings in a slot that another reading was in."""
    in_time: int = 0
    """Readings that were taken in."""
    releases: int = 0
    spent: dict[str, float] = field(default_factory=dict)
    """By policy, as epsilon at its radius."""
    closed: dict[str, int] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)
    """Windows that the budget was asked for, which are those that were covered."""


@dataclass(frozen=True, slots=True)
class Mishap:
    """An error: when, what it was, and where; never what it said."""

    at: float
    where: str
    error: str
    place: str


class Recent:
    """The last hour."""

    def __init__(self, begun: float) -> None:
        self._begun = begun
        self._bins: deque[Bin] = deque(maxlen=BINS)
        self.delays: deque[float] = deque(maxlen=DELAYS)
        self.mishaps: deque[Mishap] = deque(maxlen=ERRORS)

    def bin(self, now: float) -> Bin:
        """The one to count into."""
        number = int(now // BIN_SECONDS)
        if not self._bins or self._bins[-1].number < number:
            self._bins.append(Bin(number))
        return self._bins[-1]

    def add(self, now: float, policy: str, decided: WindowsDecided, spent: float) -> None:
        """Windows of one policy were committed, at a cost of `spent`."""
        unasked = sum(decided.withheld.get(why, 0) for why in UNASKED)
        self.delays.append(now - decided.newest_end / 1000)
        b = self.bin(now)
        b.releases += next(iter(decided.released.values()))
        b.spent[policy] = b.spent.get(policy, 0.0) + spent
        b.closed[policy] = b.closed.get(policy, 0) + decided.windows
        b.asked[policy] = b.asked.get(policy, 0) + decided.windows - unasked

    def rates(self, now: float) -> tuple[float, float]:
        """Records and releases per second."""
        first = int(now // BIN_SECONDS) - RATE_BINS + 1
        lately = [b for b in self._bins if b.number >= first]
        seconds = max(1.0, now - max(first * BIN_SECONDS, self._begun))
        return sum(b.records for b in lately) / seconds, sum(b.releases for b in lately) / seconds

    def late(self, now: float) -> int:
        """Readings that came late within the last hour."""
        return sum(b.late for b in self._of_the_hour(now))

    def shared(self, now: float) -> int:
        """Readings that shared a slot with another one within the last hour."""
        return sum(b.shared for b in self._of_the_hour(now))

    def mostly_shared(self, now: float) -> bool:
        """Whether more readings did within the last hour than were taken in: of two, one is."""
        taken_in = sum(b.in_time for b in self._of_the_hour(now))
        return self.shared(now) >= max(1, taken_in)

    def mostly_late(self, now: float) -> bool:
        """Whether more readings came late within the last hour than in time."""
        return self.late(now) > sum(b.in_time for b in self._of_the_hour(now))

    def _of_the_hour(self, now: float) -> list[Bin]:
        first = int(now // BIN_SECONDS) - BINS + 1
        return [b for b in self._bins if b.number >= first]

    def spent(self, policy: str, now: float, minutes: int = 60) -> list[float]:
        """What each of the last minutes spent; the present one is the last."""
        this = int(now // 60)
        found = [0.0] * minutes
        for b in self._bins:
            ago = this - b.number * BIN_SECONDS // 60
            if 0 <= ago < minutes:
                found[-1 - ago] += b.spent.get(policy, 0.0)
        return found

    def asking(self, policy: str) -> float:
        """The share of closed windows that were covered, and so ask for budget; 1 if none is."""
        closed = sum(b.closed.get(policy, 0) for b in self._bins)
        asked = sum(b.asked.get(policy, 0) for b in self._bins)
        return asked / closed if closed else 1.0

    def delay(self, share: float) -> float | None:
        """The delay that so many of the last releases stayed within."""
        ordered = sorted(self.delays)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None
