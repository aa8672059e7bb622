"""Whether anybody is at home: hour by hour, and over days.

Two attackers. The naive one takes much and varying power for people, as the literature on
occupancy does. The other knows the mechanism and the home's habits from weeks whose truth is
known: how likely each answer is in each hour with people and without, and how long they stay.
"""

from dataclasses import dataclass
from math import exp, log

import numpy as np
from numpy.typing import NDArray

from meteragent.explain.reader import drawn, rates
from meteragent.privacy.policy import Policy
from simulations.home.house import Life
from simulations.home.likelihood import Floats, Mask, answers
from simulations.home.people import MINUTES
from simulations.kit.product import Released
from simulations.kit.traces import DAY, Watts

DAYTIME = (6, 22)
"""Hours in which presence is asked for; at night nearly everybody is in."""
PART = 4
"""Hours of a part of the day: habits are learned for each."""
BLUR = 2.0
"""Levels by which an answer may deviate from those that were learned."""
SURE = 30.0
"""Log-odds beyond which nothing is believed."""
SOFT = 0.02
"""The share of windows that follow no habit."""


def occupied(life: Life, size: int) -> Mask:
    """Whether somebody was in for most of each window. Precondition: minutes divide a window."""
    minutes = life.presence.someone.reshape(-1, size // 60_000)
    mostly: Mask = minutes.mean(axis=1) > 0.5
    return mostly


def daytime(windows: int, size: int) -> Mask:
    """Which windows are asked for."""
    hours = np.arange(windows) * size % DAY / 3_600_000
    asked: Mask = (hours >= DAYTIME[0]) & (hours < DAYTIME[1])
    return asked


def busy(values: Watts) -> Floats:
    """The naive attacker's score: the level, and how much it moves around each window."""
    quiet, spread = np.nanquantile(values, 0.2), np.nanstd(values) + 1e-9
    padded = np.pad(np.nan_to_num(values), 2, mode="edge")
    around = np.lib.stride_tricks.sliding_window_view(padded, 5)
    score: Floats = (around.mean(axis=1) - quiet + around.std(axis=1)) / spread
    return score


@dataclass(frozen=True, slots=True)
class Habits:
    """What somebody knows of a home from former weeks: `learned[part of day][in or not]`."""

    learned: dict[tuple[int, bool], NDArray[np.int64]]
    prior: Floats
    """The share of each window of the day in which somebody was in."""
    stay: Floats
    """stay[in or not]: how likely the next window is the same."""

    @classmethod
    def of(cls, life: Life, policy: Policy) -> "Habits":
        """Learned from the truth. Precondition: whole days, windows of no more than a day."""
        levels = answers(life.trace(), policy)[:, 0]
        someone = occupied(life, policy.size)
        part = _part(len(levels), policy.size)
        learned = {
            (number, state): levels[(part == number) & (someone == state)]
            for number in range(24 // PART)
            for state in (False, True)
        }
        per_day = DAY // policy.size
        prior = np.clip(someone.reshape(-1, per_day).mean(axis=0), SOFT, 1 - SOFT)
        same = someone[1:] == someone[:-1]
        stay = [_mean(same[someone[:-1] == state]) for state in (False, True)]
        return cls(learned, prior, np.clip(stay, 0.5, 1 - SOFT))

    def evidence(self, released: Released, policy: Policy) -> Floats:
        """The log-likelihood ratio of each window: somebody in, against nobody."""
        levels = drawn(released.unbiased[:, 0], policy).astype(np.int64)
        rate = min(float(rates(policy)[0]), 1 / BLUR)
        part = _part(len(levels), policy.size)
        ratio = np.zeros(len(levels))
        for number in range(24 // PART):
            here = part == number
            by_state = [self.learned[number, state] for state in (False, True)]
            if not here.any() or not all(map(len, by_state)):
                continue
            absent, present = (_likelihood(levels[here], known, rate) for known in by_state)
            ratio[here] = np.log(present) - np.log(absent)
        return ratio

    def weigh(self, evidence: Floats) -> tuple[Floats, Floats]:
        """What all windows together say of each: before and after the releases, as log-odds.

        A hidden Markov model: people who are in tend to stay in. Before the releases only the
        clock speaks; the difference is what the releases have told.
        """
        prior = np.resize(self.prior, len(evidence))
        return self._smoothed(prior, np.zeros_like(evidence)), self._smoothed(prior, evidence)

    def _smoothed(self, prior: Floats, evidence: Floats) -> Floats:
        habit = np.log(prior / (1 - prior))
        forward = self._pass(habit, evidence)
        backward = self._pass(habit[::-1], evidence[::-1])[::-1]
        both: Floats = forward + backward - evidence - habit
        return both

    def _pass(self, habit: Floats, evidence: Floats) -> Floats:
        """Log-odds of each window given it and those before, and the clock."""
        odds, out = 0.0, np.empty(len(habit))
        leave, stay = 1 - float(self.stay[0]), float(self.stay[1])
        even = log((stay + leave) / (2 - stay - leave))
        for number, weight in enumerate((habit + evidence).tolist()):
            share = 1 / (1 + exp(-odds))
            carried = share * stay + (1 - share) * leave
            odds = log(carried / (1 - carried)) - even + weight
            odds = min(max(odds, -SURE), SURE)
            out[number] = odds
        return out


def _mean(known: Mask) -> float:
    return float(known.mean()) if len(known) else 0.5


def _part(windows: int, size: int) -> NDArray[np.int64]:
    part: NDArray[np.int64] = np.arange(windows) * size % DAY // (PART * 3_600_000)
    return part


def _likelihood(levels: NDArray[np.int64], known: NDArray[np.int64], rate: float) -> Floats:
    """Of each release, if the answer was any of the known ones; a few follow no habit."""
    each = np.exp(-rate * np.abs(levels[:, np.newaxis] - known[np.newaxis])).mean(axis=1)
    widely = 1 / (1 + np.abs(levels - np.median(known)) * rate / 20) ** 2 * 0.05
    mixed: Floats = (1 - SOFT) * each + SOFT * widely
    return mixed


def absent_days(life: Life) -> Mask:
    """Days without anybody at all."""
    someone: Mask = np.any(life.presence.someone.reshape(-1, MINUTES), axis=1)
    return ~someone
