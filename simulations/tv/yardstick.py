"""What `simulations.choose` measures a policy by that is to hide what is on television."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from meteragent.explain.advantage import Named
from meteragent.privacy.policy import Policy
from simulations.kit.command import Run
from simulations.kit.traces import DAY
from simulations.kit.yardstick import Verdict
from simulations.tv.contest import Contents, named_among
from simulations.tv.displays import OLED
from simulations.tv.library import library, metered
from simulations.tv.noise import CHUNK_BEGIN, EVENING_BEGIN, REST
from simulations.tv.plugs import INTERVAL, recordings, stretches

KNOWS = "knows every candidate's exact trace and all else in the home, and compares likelihoods"
WEEKS = (7, 28)
"""Evenings of a habit."""
MINUTE = 60_000


class TvContent:
    """Chunks and whole evenings, made and real, by the attacker who compares likelihoods.

    He knows the set, every candidate's exact trace, when it was on, and all else in the home:
    to know less of the home can only make him worse.
    """

    name = "tv-content"
    hides = "which film or programme is on"
    windows = ("15m", "1h", "6h", "24h", "7d", "30d")
    queries = (("avg", "max"), ("avg",))

    def __init__(self, run: Run) -> None:
        self._run = run

    @property
    def settings(self) -> Mapping[str, Any]:
        """Readings every 10 seconds, as most meters send them."""
        return {"interval": "10s", "maximum": "24kW"}

    def attack(self, policy: Policy) -> list[Verdict]:
        """Every contest, among all its candidates.

        Readings are taken to be a minute's or, beyond a day, of five, whatever the policy says:
        of windows as long as these, the answers are the same, and there are fewer readings.
        """
        policy = _coarse(policy)
        return [
            _verdict(contest, goal, contents, named_among(contents, policy, REST))
            for contest, goal, contents in self.contests
        ]

    def habits(self, policy: Policy) -> list[Verdict]:
        """One channel, evening after evening."""
        policy, run = _coarse(policy), self._run
        films, channels = library(run.draw(0), 60 if run.quick else 300), 30 if run.quick else 200
        evenings = [
            metered(films.evenings(run.draw(103, day), channels), OLED, 60)
            for day in range(WEEKS[-1])
        ]
        until_tomorrow = ((0, 0), (0, DAY // MINUTE - evenings[0].shape[1]))
        days = np.hstack([np.pad(evening, until_tomorrow) for evening in evenings])
        goal = f"names the right one of {channels} channels that was on every evening"
        contests = (
            (count, Contents(EVENING_BEGIN, MINUTE, days[:, : count * DAY // MINUTE]))
            for count in WEEKS
        )
        return [
            _verdict(
                f"{count} evenings of one channel", goal, told, named_among(told, policy, REST)
            )
            for count, told in contests
        ]

    @cached_property
    def contests(self) -> list[tuple[str, str, Contents]]:
        """Name and goal of each, and what might have been on."""
        run = self._run
        films = library(run.draw(0), 60 if run.quick else 300)
        chunks = metered(films.chunks(run.draw(101)), OLED, 60)
        evenings = metered(films.evenings(run.draw(102), 30 if run.quick else 200), OLED, 60)
        made = [
            (
                "5-minute chunks",
                f"names the right one of {len(chunks)} films from five minutes",
                Contents(CHUNK_BEGIN, MINUTE, chunks),
            ),
            (
                "whole evenings",
                f"names the right one of {len(evenings)} evenings of four hours",
                Contents(EVENING_BEGIN, MINUTE, evenings),
            ),
        ]
        return made + self._real(run)

    def _real(self, run: Run) -> list[tuple[str, str, Contents]]:
        if run.traces is None:
            return []
        found = stretches(recordings(run.traces), 7200)
        numbers = {name: number for number, name in enumerate(sorted(set(found.sets)))}
        sets = [numbers[name] for name in found.sets]
        contents = Contents(EVENING_BEGIN, INTERVAL, found.watts, np.array(sets))
        goal = f"names the right one of the recordings of its set, of {len(sets)} in all"
        return [("two hours of real sets", goal, contents)]


def _coarse(policy: Policy) -> Policy:
    coarse = MINUTE if policy.size <= DAY else 5 * MINUTE
    return replace(policy, interval=max(policy.interval, coarse))


def _verdict(contest: str, goal: str, contents: Contents, found: Named) -> Verdict:
    cases = len(contents.watts)
    success = found.success
    return Verdict(
        contest, KNOWS, goal, success, success, contents.chance, cases, exact=found.exact
    )


def tv_content(run: Run) -> TvContent:
    """The yardstick of the preset `tv-content`."""
    return TvContent(run)
