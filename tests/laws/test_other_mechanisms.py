"""The policy alone says which mechanism makes its noise: releases and numbers follow."""

from __future__ import annotations

from dataclasses import fields
from decimal import Decimal

import numpy as np

from meteragent import Entropy, TruncatedGeometric
from meteragent.explain.explain import answers
from meteragent.privacy.policy import Policy
from meteragent.privacy.query import answer
from meteragent.privacy.question import Question, question
from meteragent.privacy.release import Releaser
from tests.given import KEY, policy

USUAL = policy(questions=(question("avg", 1, 100), question("p95", "0.5", 100)))


class NoisierPolicy(Policy):
    """A policy with another mechanism: for every loss, that of half as much."""

    def mechanism(self, question: Question) -> TruncatedGeometric:
        return TruncatedGeometric(self.domain, Decimal(question.epsilon) / 2)


NOISIER = NoisierPolicy(**{field.name: getattr(USUAL, field.name) for field in fields(USUAL)})


def test_a_release_has_the_noise_of_the_policys_mechanism() -> None:
    levels = np.arange(60, dtype=USUAL.domain.dtype).reshape(10, 6)
    tags, starts = np.zeros((10, 16), np.uint8), np.arange(10)
    granted, heard = np.full(10, 2), np.full(10, levels.shape[1])
    values, unbiased = Releaser(NOISIER, KEY).release(tags, starts, heard, levels, granted)
    truth = answer(tuple(asked.query for asked in NOISIER.questions), levels)
    words = Entropy(KEY, NOISIER.digest).words(tags, starts, heard, truth, 2)
    for output, asked in enumerate(NOISIER.questions):
        mechanism = NOISIER.mechanism(asked)
        drawn = mechanism.sample(truth, words)[:, output]
        assert values[:, output].tolist() == NOISIER.domain.watts(drawn).tolist()
        assert unbiased[:, output].tolist() == mechanism.unbiased(drawn).tolist()
    usual, _ = Releaser(USUAL, KEY).release(tags, starts, heard, levels, granted)
    assert (usual != values).any()


def test_what_is_said_of_answers_is_said_of_the_policys_mechanism() -> None:
    for said, usual, asked in zip(answers(NOISIER), answers(USUAL), NOISIER.questions, strict=True):
        mechanism = NOISIER.mechanism(asked)
        assert said.expected_error.minimum == mechanism.expected_error(0)
        assert said.error_90.minimum == mechanism.error_quantile(0.9, 0)
        assert (said.times, said.plus) == (
            mechanism.multiplicative_capacity,
            mechanism.additive_capacity,
        )
        assert said.expected_error.middle > usual.expected_error.middle
        assert said.bits < usual.bits
