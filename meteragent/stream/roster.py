"""Where members are: in which partition a home's readings come, and in which its group is decided.

Everybody who takes part in a group's sums reads the same members, and has them sorted out here by
the same rules; a digest of who is in which group then goes with each sum, so that two who have
read different ones notice.
"""

from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b

import numpy as np

from meteragent.privacy.members import Membership
from meteragent.stream.homes import Homes

DIGEST_BYTES = 16


class Roster:
    """All members of some groups, by partition."""

    def __init__(self, members: Iterable[Membership], inputs: Homes, outputs: Homes) -> None:
        """Homes are at home in `inputs`, groups in `outputs`."""
        self.output_of = outputs.of
        """In which partition a group is decided."""
        marked = sorted((_mark(one), one) for one in members)
        self._marks = np.array([np.frombuffer(mark, np.uint8) for mark, _ in marked], np.uint8)
        self._members = [one for _, one in marked]
        columns = [
            (one.since, one.until, inputs.of(one.home), outputs.of(one.group))
            for one in self._members
        ]
        self._since, self._until, self._input, self._output = (
            np.array(columns, dtype=np.int64).reshape(-1, 4).T
        )
        self.digest = lru_cache(maxsize=4)(self._digest)
        """Of who is in which group, for the windows that begin at this time."""
        self.sources = lru_cache(maxsize=4)(self._sources)
        """(partition of groups, time) -> in which the homes are of windows that begin then."""

    def of_input(self, partition: int) -> list[Membership]:
        """The members whose readings come in this partition of the input."""
        return [self._members[at] for at in np.flatnonzero(self._input == partition)]

    def of_output(self, partition: int) -> list[Membership]:
        """The members of groups that are decided in this partition of the sums."""
        return [self._members[at] for at in np.flatnonzero(self._output == partition)]

    def ever(self, partition: int) -> frozenset[int]:
        """Where the homes are that are ever in a group that is decided in this partition."""
        return frozenset(self._input[self._output == partition].tolist())

    def _sources(self, partition: int, start: int) -> frozenset[int]:
        now = (self._since <= start) & (start < self._until) & (self._output == partition)
        return frozenset(self._input[now].tolist())

    def _digest(self, start: int) -> bytes:
        now = (self._since <= start) & (start < self._until)
        return blake2b(self._marks[now].tobytes(), digest_size=DIGEST_BYTES).digest()


def _mark(one: Membership) -> bytes:
    """A home in a group, at fixed length; ids hold no control characters."""
    return blake2b(f"{one.home}\0{one.group}".encode(), digest_size=DIGEST_BYTES).digest()
