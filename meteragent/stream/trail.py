"""When records were written, in milestones: so it is known which of them were written long ago.

By the times that brokers stamped on them, and by nothing else: what is read again is as old as it
was. A pane is expected to be open for as long as it lasts and its meter may take; what is open an
hour longer holds the partition's offset back, because its meter is silent, and is written down in
the ledger: a few meters at a time, for most of them will close their panes themselves.
"""

from collections import deque
from collections.abc import Sequence

from meteragent.privacy.policy import Policy
from meteragent.stream.readings import Readings

LONGER = 60 * 60 * 1000
"""Milliseconds for which a pane may hold the offset back beyond what is expected."""
MILE = 5 * 60 * 1000
"""Milliseconds from one milestone to the next, at least."""
AT_LEAST, FOR_EACH = 1, 4
"""So many meters' panes are written down at a milestone, and one more for so many records."""


def expected(policy: Policy) -> int:
    """For how long one of its open panes may need what it holds to be read again."""
    return policy.panes.size + policy.patience + LONGER


def read_back(policy: Policy) -> int:
    """How much of the input a restart reads again at most, in milliseconds of its readings.

    A pane, and as long as it waits for more; where presence is public, no longer for silent meters
    than until what they sent is written down.
    """
    silent = policy.grace + policy.idle - policy.patience
    return policy.panes.size + policy.patience + min(silent, LONGER + MILE)


class Trail:
    """Milestones of the log of a partition."""

    def __init__(self, policies: Sequence[Policy]) -> None:
        self._longest = max(map(expected, policies))
        self._miles: deque[tuple[int, int]] = deque()
        """(offset, time): every record before it was written by then."""
        self._newest = 0

    def note(self, readings: Readings) -> int:
        """These are next. If a milestone was passed, answer for how many meters there is time."""
        self._newest = max(self._newest, int(readings.timestamps.max(initial=0)))
        before = self._miles[-1] if self._miles else (int(readings.offsets.min(initial=0)), 0)
        if self._newest < before[1] + MILE:
            return 0
        self._miles.append((readings.next_offset, self._newest))
        while len(self._miles) > 1 and self._miles[1][1] <= self._newest - self._longest:
            self._miles.popleft()
        return AT_LEAST + (readings.next_offset - before[0]) // FOR_EACH

    def old(self, policy: Policy) -> int:
        """Every record before this one is older than one of its open panes should need."""
        by_then = self._newest - expected(policy)
        return max((offset for offset, time in self._miles if time <= by_then), default=0)
