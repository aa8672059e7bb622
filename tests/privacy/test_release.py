from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from meteragent.privacy.domain import ABSENT, Domain
from meteragent.privacy.entropy import Entropy
from meteragent.privacy.query import Sums
from meteragent.privacy.question import question
from meteragent.privacy.release import Releaser
from meteragent.privacy.thresholds import WordsOf
from tests.given import KEY, policy

if TYPE_CHECKING:
    from meteragent.privacy.policy import Presence


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
    starts, heard = np.array([0, 40_000, 80_000]), np.array([0, 2, 0])
    releaser = exact("avg", "min", "p95", "reading", domain=domain)
    values, _ = releaser.release(np.zeros((3, 16), np.uint8), starts, heard, levels, np.full(3, 4))
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
    releaser = Releaser(asked, KEY)
    values, unbiased = releaser.release(tags, starts, sums.present, contents, np.full(3, 3))
    expected = np.array([[-30, -100, 10], [22.5, 10, 30], [0, 0, 0]])
    np.testing.assert_allclose(values, expected, atol=1e-9)
    np.testing.assert_allclose(unbiased[:2, 0], [-30, 22.5], atol=1e-9)


def test_some_columns_of_words_read_on_in_their_own_rows() -> None:
    """Where queries have losses of their own, each mechanism sees the words of its outputs."""
    answers = np.arange(6).reshape(2, 3)
    entropy = Entropy(KEY, bytes(16))
    heard = np.array([2, 1])
    words = entropy.words(np.zeros((2, 16), np.uint8), np.array([0, 60]), heard, answers, 3)
    some = WordsOf(words, np.array([0, 2]))
    np.testing.assert_array_equal(some.first, words.first[:, [0, 2]])
    for window in range(2):
        assert some.further(window, 1, 1) == words.further(window, 2, 1)
        assert some.further(window, 0, 4) == words.further(window, 0, 4)


@pytest.mark.parametrize("presence", ["public", "private"])
def test_noise_is_bound_to_how_many_readings_came_where_that_is_public(presence: Presence) -> None:
    asked = policy(questions=tuple(question(name, 1, 100) for name in ("avg", "max")))
    releaser = Releaser(replace(asked, presence=presence), KEY)
    levels = np.full((64, 4), 17, dtype=asked.domain.dtype)
    given = np.zeros((64, 16), np.uint8), np.arange(64) * 40_000
    few, many = (
        releaser.release(*given, np.full(64, heard), levels, np.full(64, 2))[1] for heard in (2, 4)
    )
    equal = np.count_nonzero((few == many).all(axis=1))
    # Of independent noise of this scale both answers agree in less than one of 10,000.
    assert equal == 64 if presence == "private" else equal < 3


def test_partitions_share_the_tables_of_their_noise() -> None:
    """They are large and slow to make, and the same wherever a policy says the same."""

    def releaser() -> Releaser:
        asked = question("avg", 1, 100), question("max", 2, 100)
        return Releaser(policy(questions=asked), KEY)

    one, other = releaser(), releaser()
    mechanisms = [mechanism for _, mechanism in one._mechanisms]
    assert len(mechanisms) == 2
    assert all(a is b for a, (_, b) in zip(mechanisms, other._mechanisms, strict=True))
