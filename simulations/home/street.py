"""The homes of which loads are told: the same everywhere, so that shares of a load compare.

How large a share an error is depends on whose load it is of. So wherever a page says shares of a
load, or what a task comes to, it is of this street in the same four weeks of July. It draws then
what `USUAL` says, which is what errors are stated for where no home is simulated. That is the least
of the year: in January, when heat pumps run, it draws two thirds more, and shares are smaller.

What an attacker tells is of other homes (`simulations.home.yardstick`), each of which has all that
there is to be found: that attacker knows the rest of a home, and how much it is does not matter.
Where nothing is known of a home, as when only a film is sought, `simulations.tv.background` covers
it up: what counts there comes and goes within seconds, and is of an evening.
"""

from collections.abc import Collection

import numpy as np

from simulations.home.house import BEGIN, Home, Life
from simulations.home.policies import MINUTE
from simulations.kit.command import Run
from simulations.kit.statistics import Floats
from simulations.kit.traces import DAY, Trace

HOMES, SUNNY = 200, 40
"""Homes without panels, and with them."""
FEW, FEW_SUNNY = 12, 4
"""Of a quick run."""
DAYS = 28
JULY = 178
"""A Thursday, with which windows of a week begin, too."""
APRIL = 101
"""A Thursday when panels have something to do, and homes as well."""
QUARTER = 15 * MINUTE


def street(run: Run) -> list[Home]:
    """Homes as there are, but without panels."""
    many = FEW if run.quick else HOMES
    return [Home.draw(run.seed, 400 + n, lacking=("pv",)) for n in range(many)]


def sunny(run: Run) -> list[Home]:
    """The first of them, with panels."""
    many = FEW_SUNNY if run.quick else SUNNY
    return [Home.draw(run.seed, 400 + n, having=("pv",)) for n in range(many)]


def quarters(home: Home, away: Collection[int] = ()) -> Floats:
    """What its meter measures in July, each quarter of an hour; nobody is there `away`."""
    return home.live(DAYS, first=JULY, away=away, interval=QUARTER).trace().watts


def lived(run: Run) -> Floats:
    """watts[home, quarter] of the street."""
    return np.array([quarters(home) for home in run.each(street(run), "homes")])


def days(run: Run, many: int) -> list[Trace]:
    """A day of so many meters: each home on each of its days, in a drawn order, and then again."""
    each = lived(run).reshape(-1, DAY // QUARTER)
    order = run.draw(62).permutation(len(each))
    return [Trace(f"meter-{n}", BEGIN, QUARTER, each[order[n % len(each)]]) for n in range(many)]


def sunny_life(home: Home) -> Life:
    """Of a home with panels, in April."""
    return home.live(DAYS, first=APRIL, interval=QUARTER)
