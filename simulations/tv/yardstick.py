"""What `simulations.choose` measures a policy by that is to hide what is on television."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from meteragent.privacy.entropy import NoiseKey
from meteragent.privacy.policy import Policy
from simulations.kit.command import Run
from simulations.kit.traces import DAY
from simulations.kit.yardstick import Estimate, Verdict
from simulations.tv.contest import Contents, alone, outcome
from simulations.tv.displays import OLED
from simulations.tv.library import library, metered
from simulations.tv.noise import CHUNK_BEGIN, EVENING_BEGIN, REST
from simulations.tv.plugs import INTERVAL, recordings, stretches

TRIALS = 3000
"""Of each contest; the more, the smaller an advantage that shows."""
MINUTE = 60_000


class TvContent:
    """Chunks and whole evenings, made and real, by the attacker who compares likelihoods.

    He knows the set, every candidate's exact trace, when it was on, and all else in the home:
    to know less of the home can only make him worse.
    """

    name = "tv-content"
    hides = "which film or programme is on"
    windows = ("15m", "1h", "6h", "24h", "7d")
    queries = (("avg", "max"), ("avg",))

    def __init__(self, run: Run) -> None:
        self._run = run

    @property
    def settings(self) -> Mapping[str, Any]:
        """Readings every 10 seconds, as most meters send them."""
        return {"interval": "10s", "maximum": "24kW"}

    def attack(self, policy: Policy, key: NoiseKey, run: Run) -> list[Verdict]:
        """Every contest, each with about as many trials.

        Readings are taken to be a minute's or, beyond a day, of five, whatever the policy says:
        of windows as long as these, the answers are the same, and there are fewer readings.
        """
        coarse = MINUTE if policy.size <= DAY else 5 * MINUTE
        policy = replace(policy, interval=max(policy.interval, coarse))
        verdicts = []
        for number, (contest, goal, contents) in enumerate(self._contests):
            trials = 60 if run.quick else TRIALS
            repeats = -(-trials // len(contents.watts))
            seen = alone(contents, policy, key, repeats, REST)
            coins = run.draw(100, number, int.from_bytes(key.secret[:6], "little"))
            found = outcome(seen.scores(), contents, coins).first
            verdicts.append(
                Verdict(
                    contest,
                    "knows every candidate's exact trace and all else in the home, and compares "
                    "likelihoods",
                    goal,
                    Estimate.of(found),
                    contents.chance,
                    found.of,
                )
            )
        return verdicts

    @cached_property
    def _contests(self) -> list[tuple[str, str, Contents]]:
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


def tv_content(run: Run) -> TvContent:
    """The yardstick of the preset `tv-content`."""
    return TvContent(run)
