from __future__ import annotations

import numpy as np
import pytest

from meteragent.privacy.domain import ABSENT, Domain
from meteragent.privacy.entropy import Entropy
from meteragent.privacy.query import Sums
from meteragent.privacy.question import question
from meteragent.privacy.release import Releaser, _WordsOf
from tests.given import KEY, policy


def exact(*names: str, domain: Domain) -> Releaser:
    """Noise so small that of 10^13 answers one is not the truth."""
    asked = policy(
        domain=domain,
        questions=tuple(question(name, 6, 1) for name in names),
        size=40_000,
        presence="private",
    )
    return Releaser(asked, KEY)


@pytest.mark.parametrize(
    ("domain", "rest"),
    [
        (Domain(0, 24_000, 10), 0),
        (Domain(-10_000, 24_000, 10), 0),
        (Domain(-10_000, 23_990, 30), -10),  # and not 20
        (Domain(-9_995, 25_000, 5), 0),
        (Domain(100, 500, 10), 100),
        (Domain(-500, -100, 10), -100),
    ],
)
def test_an_empty_window_is_released_as_the_level_of_no_watts(domain: Domain, rest: float) -> None:
    levels = np.full((3, 4), ABSENT, dtype=domain.dtype)
    levels[1] = [domain.top, domain.top, ABSENT, ABSENT]
    starts = np.array([0, 40_000, 80_000])
    releaser = exact("avg", "min", "p95", "reading", domain=domain)
    values, _ = releaser.release(np.zeros((3, 16), np.uint8), starts, levels, np.full(3, 4))
    assert values[0].tolist() == values[2].tolist() == [rest] * 7
    high = float(domain.maximum)
    assert values[1].tolist() == [high, high, high, high, high, rest, rest]


@pytest.mark.parametrize("kept", ["slots", "sums"])
def test_averages_are_released_on_the_grid_of_answers(kept: str) -> None:
    """Readings are steps of 10 W; their averages, to a tenth of a watt."""
    domain = Domain(-100, 1000, 10, "0.1")
    asked = policy(
        domain=domain,
        questions=tuple(question(name, 600, 1) for name in ("avg", "min", "max")),
        size=40_000,
        presence="private",
    )
    watts = np.array([[-100, 0, 10, np.nan], [14.9, 15, 25, 31], [np.nan] * 4])
    levels = domain.levels(watts.ravel()).reshape(watts.shape)
    held = levels != ABSENT
    sums = Sums(
        held.sum(axis=1),
        np.where(held, levels, 0).sum(axis=1, dtype=np.int64),
        np.where(held, levels, domain.top).min(axis=1).astype(np.int64),
        np.where(held, levels, 0).max(axis=1).astype(np.int64),
    )
    contents = levels if kept == "slots" else sums
    starts, tags = np.array([0, 40_000, 80_000]), np.zeros((3, 16), np.uint8)
    values, unbiased = Releaser(asked, KEY).release(tags, starts, contents, np.full(3, 3))
    expected = np.array([[-30, -100, 10], [22.5, 10, 30], [0, 0, 0]])
    np.testing.assert_allclose(values, expected, atol=1e-9)
    np.testing.assert_allclose(unbiased[:2, 0], [-30, 22.5], atol=1e-9)


def test_some_columns_of_words_read_on_in_their_own_rows() -> None:
    """Where queries have losses of their own, each mechanism sees the words of its outputs."""
    answers = np.arange(6).reshape(2, 3)
    entropy = Entropy(KEY, bytes(16))
    words = entropy.words(np.zeros((2, 16), np.uint8), np.array([0, 60]), answers, 3)
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
