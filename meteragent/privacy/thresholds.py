"""Uniform words -> a number of any law, exactly: by thresholds, word by word.

No float takes part, so there are no gaps or unequal steps by which anything could be told.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

WORDS = 5  # 64-bit words to which a threshold is known: 320 bits
WORD_BITS = 64
GUIDE_BITS = 16
BELOW_FIRST = (WORDS - 1) * WORD_BITS


class Words(Protocol):
    """Uniform 64-bit words, an endless row of them for each output of each window."""

    first: NDArray[np.uint64]
    """first[window, output]"""

    def further(self, window: int, output: int, depth: int) -> int:
        """The word at `depth` >= 1 of one row."""


class WordsOf:
    """The words of some outputs."""

    def __init__(self, words: Words, columns: NDArray[np.int64]) -> None:
        self.first = words.first[:, columns]
        self._words = words
        self._columns = columns

    def further(self, window: int, output: int, depth: int) -> int:
        """The word at `depth` of one row."""
        return self._words.further(window, int(self._columns[output]), depth)


class Thresholds:
    """A distribution function in whole numbers of 320 bits, ascending."""

    def __init__(self, exact: Sequence[int]) -> None:
        self.exact = exact
        self._high = np.array([t >> BELOW_FIRST for t in exact], dtype=np.uint64)
        self._guide = _guide(self._high)

    def count(self, first: NDArray[np.uint64], words: Words) -> NDArray[np.int64]:
        """How many thresholds are at or below each row of words, of which `first` are the first.

        Precondition: `first` are the leading columns of `words.first`. Most rows are decided by
        the first 16 bits, nearly all others by 64; a row that ties with a threshold reads on,
        word by word.
        """
        counts = self._guide[first >> np.uint64(WORD_BITS - GUIDE_BITS)]
        undecided = np.nonzero(counts < 0)
        word = first[undecided]
        count = np.searchsorted(self._high, word, side="right")
        tied = np.flatnonzero((count > 0) & (self._high[count - 1] == word))
        for i in tied:
            window, output = int(undecided[0][i]), int(undecided[1][i])
            count[i] = bisect_right(self.exact, uniform(int(word[i]), words, window, output))
        counts[undecided] = count
        found: NDArray[np.int64] = counts.astype(np.int64)
        return found


def uniform(first: int, words: Words, window: int, output: int) -> int:
    """All 320 bits of one row."""
    whole = first
    for depth in range(1, WORDS):
        whole = whole << WORD_BITS | words.further(window, output, depth)
    return whole


def _guide(high: NDArray[np.uint64]) -> NDArray[np.int32]:
    """By leading bits: how many thresholds lie below, or -1 where one lies among them."""
    start = np.arange(2**GUIDE_BITS, dtype=np.uint64) << np.uint64(WORD_BITS - GUIDE_BITS)
    last = start | np.uint64(2 ** (WORD_BITS - GUIDE_BITS) - 1)
    below = np.searchsorted(high, start, side="left")
    through = np.searchsorted(high, last, side="right")
    return np.where(below == through, below, -1).astype(np.int32)
