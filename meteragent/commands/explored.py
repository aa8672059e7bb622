"""What the explorer shows: settings near those of a policy, and what `explain` says of each.

All numbers are texts, made where those of `explain` are made: the page shows them and reckons
nothing. What depends on the noise alone is said once, as a law, for all radii and epsilons that
come to the same noise.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from meteragent.config.nearby import Nearby, Place, as_toml
from meteragent.explain import advice, day
from meteragent.explain.bills import sum_quantile
from meteragent.explain.document import Answer, Explanation
from meteragent.explain.explain import answers, explain
from meteragent.explain.guarantee import Guarantee
from meteragent.explain.loads import EVERYDAY
from meteragent.explain.words import factor, listed, power_text, share_text, watts_text, window_text
from meteragent.privacy.entropy import NoiseKey, tag
from meteragent.privacy.policy import Policy
from meteragent.privacy.query import answer
from meteragent.privacy.question import Question
from meteragent.privacy.release import Releaser

HOMES = (1, 10, 100, 1_000, 10_000)
"""Of the sums."""
SURE = 0.95
DRAWS = 3
"""Of a picture's noise."""
PUBLIC_KEY = NoiseKey(bytes(range(32)))
"""Of the pictures, which show nobody's day: everybody may know it."""

Shown = dict[str, Any]


def explored(nearby: Nearby, progress: Callable[[int], object]) -> Shown:
    """All of it; `progress` is told how many places have been looked at."""
    looked = _Looked()
    points = []
    for number, place in enumerate(nearby.places(), 1):
        points.append(looked.at(nearby, place))
        progress(number)
    return {
        "name": nearby.own.name,
        "axes": _axes(nearby),
        "start": nearby.start,
        "homes": [f"{homes:,}" for homes in HOMES],
        "loads": [{"name": load.name, "meaning": load.meaning} for load in EVERYDAY],
        "day": day.minutes().astype(int).tolist(),
        "points": points,
        "laws": looked.laws,
        "warnings": [*looked.warnings],
    }


class _Looked:
    """What has been found so far, each thing once."""

    def __init__(self) -> None:
        self.laws: list[Shown] = []
        self.warnings: dict[str, int] = {}
        self._known: dict[object, tuple[int, dict[str, float]]] = {}
        self._means: dict[object, list[str]] = {}

    def at(self, nearby: Nearby, place: Place) -> Shown:
        """What is promised at a place, and by which law."""
        document, settings = nearby.settings(place)
        if isinstance(settings, str):
            return {"refused": settings}
        guarantee, policy = settings.guarantee, settings.policy
        losses = tuple(asked.nano for asked in policy.questions)
        key = place[0], place[3], losses, policy.domain
        if key not in self._known:
            explained = explain(guarantee)
            self._known[key] = len(self.laws), {its.load: its.right.once for its in explained.loads}
            self.laws.append(self._law(policy, explained))
        law, once = self._known[key]
        return {"law": law, "toml": as_toml(document), **self._promised(guarantee, once)}

    def _promised(self, guarantee: Guarantee, once: dict[str, float]) -> Shown:
        promised = guarantee.promised()
        texts = (
            *advice.of_grid(guarantee),
            *advice.of_films(once),
            *advice.of_loads(once),
            *advice.of_bounds(guarantee),
            *advice.of_noise(guarantee.policy, answers(guarantee.policy)),
        )
        bounds = (promised.one_release, promised.one_horizon, promised.any_horizon)
        return {
            "words": promised.sentences[0],
            "bounds": [factor(its.log_odds) for its in bounds],
            "warnings": [self.warnings.setdefault(text, len(self.warnings)) for text in texts],
        }

    def _law(self, policy: Policy, explained: Explanation) -> Shown:
        """What follows from the noise alone."""
        true, drawn = _pictured(policy)
        rights = [(seen.right.once, seen.right.month) for seen in explained.loads]
        return {
            "answers": [
                {
                    **_answer(its),
                    "homes": self._of_homes(policy, asked),
                    "group": _of_group(policy, asked),
                }
                for asked, its in zip(policy.questions, explained.answers, strict=True)
            ],
            "loads": [[[its, share_text(its)] for its in pair] for pair in rights],
            "true": true,
            "drawn": drawn,
        }

    def _of_homes(self, policy: Policy, asked: Question) -> list[str]:
        """How far off the mean of so many homes' answers about one window is at most."""
        key = policy.domain, asked.nano
        if key not in self._means:
            means = (sum_quantile(policy, asked, homes, SURE) / homes for homes in HOMES)
            self._means[key] = [*map(watts_text, means)]
        return self._means[key]


def _of_group(policy: Policy, asked: Question) -> list[str]:
    """The same where so many homes are a group: one draw of the same noise is for all of them."""
    off = sum_quantile(policy, asked, 1, SURE)
    return [watts_text(off / homes) for homes in HOMES]


def _axes(nearby: Nearby) -> list[Shown]:
    window = nearby.own.window
    lengths = {text: text.replace("m", " min").replace("h", " h") for text in nearby.windows}
    if not isinstance(window, int):
        lengths[window] = window_text(nearby.own.policy.windows)
    return [
        {"name": "window", "texts": [lengths[text] for text in nearby.windows]},
        {"name": "radius", "texts": [*map(power_text, nearby.radii)]},
        {"name": "epsilon", "texts": [f"{its.normalize():f}" for its in nearby.epsilons]},
        {"name": "queries", "texts": [listed(names) for names in nearby.queries]},
    ]


def _answer(its: Answer) -> Shown:
    return {
        "query": its.query,
        "error": watts_text(its.expected_error.middle),
        "error_90": watts_text(its.error_90.middle),
        "within": its.error_90.middle,
        "month": None if its.month is None else watts_text(its.month),
    }


def _pictured(policy: Policy) -> tuple[list[list[float]], list[list[list[float]]]]:
    """true[query][window] of the day, and drawn[draw][query][window] of it: watts."""
    windows = max(1, day.MINUTES * day.MINUTE // policy.size)
    watts = day.readings(policy.interval, windows * policy.slots)
    levels = policy.domain.levels(watts).reshape(windows, policy.slots)
    tags = np.frombuffer(tag("made up") * windows, dtype=np.uint8).reshape(windows, -1)
    everything = np.full(windows, len(policy.questions))
    heard = np.full(windows, policy.slots)
    releaser = Releaser(policy, PUBLIC_KEY)
    drawn = []
    for draw in range(DRAWS):
        starts = np.arange(windows) + draw * windows
        values, _ = releaser.release(tags, starts, heard, levels, everything)
        drawn.append(values.T.tolist())
    asked = tuple(question.query for question in policy.questions)
    true: list[list[float]] = policy.domain.watts(answer(asked, levels, 0)).T.tolist()
    return true, drawn
