"""What is to be told: pairs of days, with something and without it; and which film was on."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from simulations.home.contests import Street, days_away, single_uses
from simulations.home.likelihood import Pair
from simulations.home.policies import MINUTE, preset
from simulations.home.yardstick import OWNED, SMALL
from simulations.kit.command import Run
from simulations.kit.traces import DAY, Watts
from simulations.tv.contest import Contents
from simulations.tv.displays import OLED
from simulations.tv.library import library, metered
from simulations.tv.noise import CHUNK_BEGIN, EVENING_BEGIN

QUARTER = 15 * MINUTE
DAYS = 23
CASES, SETS = 60, 60
NEIGHBOURS = 9
"""With whom a home is in a feeder: as few as one has."""
WEEK = 7 * DAY // QUARTER


@dataclass(frozen=True, slots=True)
class Contests:
    """All of them, as they are for every preset."""

    pairs: dict[str, list[Pair]]
    """In readings of a quarter of an hour, and in whole days."""
    films: dict[str, Contents]
    """In readings of a minute."""
    neighbours: Watts
    """neighbours[home, slot]: a week of others."""


def contests(run: Run) -> Contests:
    """Of the seed of a run."""
    street = Street(run.seed + 1, 4, DAYS, QUARTER, having=OWNED)
    weeks = [total[n * WEEK : (n + 1) * WEEK] for total in street.totals for n in range(3)]
    return Contests(dict(_pairs(street, run)), dict(_films(run)), np.array(weeks[:NEIGHBOURS]))


def _pairs(street: Street, run: Run) -> Iterator[tuple[str, list[Pair]]]:
    day, cases = preset("appliances", interval="15m").size, 12 if run.quick else CASES
    for place, (name, words) in enumerate(SMALL.items()):
        yield f"one use of {words}", single_uses(street, name, day, cases, run.draw(1, place))
    for days in (1,) if run.quick else (1, 7):
        words = "one day away" if days == 1 else "seven days away"
        yield words, days_away(street, day, days, cases, run.draw(2, days))


def _films(run: Run) -> Iterator[tuple[str, Contents]]:
    """Five minutes and whole evenings, among so many films and channels."""
    many = 12 if run.quick else SETS
    films = library(run.draw(4), many)
    chunks = metered(films.chunks(run.draw(5)), OLED, 60)
    yield "five minutes of a film", Contents(CHUNK_BEGIN, MINUTE, chunks)
    evenings = metered(films.evenings(run.draw(6), many), OLED, 60)
    yield "a whole evening", Contents(EVENING_BEGIN, MINUTE, evenings)


def by_quarters(contents: Contents) -> Contents:
    """The same in readings of a quarter of an hour, in the rest of which no set is on."""
    length = QUARTER // contents.interval
    missing = -contents.watts.shape[1] % length
    whole = np.pad(contents.watts, ((0, 0), (0, missing)))
    means = whole.reshape(len(whole), -1, length).mean(axis=2)
    return Contents(contents.begin, QUARTER, means, contents.sets)
