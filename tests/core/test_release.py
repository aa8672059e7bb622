import numpy as np

from meteragent.entropy import Entropy, NoiseKey
from meteragent.release import _Columns


def test_some_columns_of_words_read_on_in_their_own_rows() -> None:
    """Where queries have losses of their own, each mechanism sees the words of its outputs."""
    levels = np.arange(12, dtype=np.int16).reshape(2, 6)
    entropy = Entropy(NoiseKey(bytes(32)), bytes(16))
    words = entropy.words(np.zeros((2, 16), np.uint8), np.array([0, 60]), levels, 3)
    some = _Columns(words, np.array([0, 2]))
    np.testing.assert_array_equal(some.first, words.first[:, [0, 2]])
    for window in range(2):
        assert some.further(window, 1, 1) == words.further(window, 2, 1)
        assert some.further(window, 0, 4) == words.further(window, 0, 4)
