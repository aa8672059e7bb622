import numpy as np

from meteragent.privacy.entropy import Entropy
from meteragent.privacy.policy import question
from meteragent.privacy.release import Releaser, _WordsOf
from tests.given import KEY, policy


def test_some_columns_of_words_read_on_in_their_own_rows() -> None:
    """Where queries have losses of their own, each mechanism sees the words of its outputs."""
    levels = np.arange(12, dtype=np.int16).reshape(2, 6)
    entropy = Entropy(KEY, bytes(16))
    words = entropy.words(np.zeros((2, 16), np.uint8), np.array([0, 60]), levels, 3)
    some = _WordsOf(words, np.array([0, 2]))
    np.testing.assert_array_equal(some.first, words.first[:, [0, 2]])
    for window in range(2):
        assert some.further(window, 1, 1) == words.further(window, 2, 1)
        assert some.further(window, 0, 4) == words.further(window, 0, 4)


def test_partitions_share_the_tables_of_their_noise() -> None:
    """They are large and slow to make, and the same wherever a policy says the same."""

    def releaser() -> Releaser:
        asked = question("avg", 1, 100), question("max", 2, 100)
        return Releaser(policy(questions=asked), KEY)

    one, other = releaser(), releaser()
    mechanisms = [mechanism for _, mechanism in one._mechanisms]
    assert len(mechanisms) == 2
    assert all(a is b for a, (_, b) in zip(mechanisms, other._mechanisms, strict=True))
