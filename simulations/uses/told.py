"""What each setting tells of a home: by the attacker who knows all else, worked out.

Of a feeder's sums that attacker knows every other home, so that what is left is one home's answer
with the noise of one home's.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from meteragent.explain.advantage import Draw, right
from simulations.choose import bill
from simulations.home.contests import usual
from simulations.home.likelihood import Pair
from simulations.home.policies import HOUR, preset
from simulations.home.yardstick import USUAL, Arena, absence, habit, whether
from simulations.kit.command import Run
from simulations.kit.traces import DAY
from simulations.kit.yardstick import MORE, TIMES
from simulations.tv.yardstick import TvContent
from simulations.uses.settings import MONTH, Setting
from simulations.uses.street import DAYS, within


@dataclass(frozen=True, slots=True)
class Secret:
    """Something that people may want to keep, and what guessing it gets."""

    name: str
    chance: float

    def kept(self, success: float) -> bool:
        """Whether an attacker gains next to nothing over guessing."""
        return success <= min(self.chance + MORE, TIMES * self.chance)


EVENING = Secret("which of 200 channels, one evening", 0.005)
KETTLE = Secret("a kettle, once", 0.5)
TV = Secret("television, one evening", 0.5)
DAY_AWAY = Secret("a day away", 0.5)
WEEK_AWAY = Secret("a week away", 0.5)
KETTLES = Secret("a kettle, as usual for four weeks", 0.5)
SECRETS = (EVENING, KETTLE, TV, DAY_AWAY, WEEK_AWAY, KETTLES)


@dataclass(slots=True)
class Attacker:
    """The contests, which are prepared once."""

    run: Run
    arena: Arena = field(init=False)
    films: TvContent = field(init=False)

    def __post_init__(self) -> None:
        self.arena, self.films = Arena(self.run), TvContent(self.run)

    def success(self, setting: Setting) -> dict[str, float]:
        """How often each secret is told."""
        if setting.policy.size == MONTH:
            return self._of_a_month(setting)
        policy, arena = setting.policy, self.arena
        evenings = [v for v in self.films.attack(policy) if v.contest == "whole evenings"]
        return {
            EVENING.name: evenings[0].success,
            KETTLE.name: whether("kettle", "", arena, policy).success,
            TV.name: whether("tv", "", arena, policy).success,
            DAY_AWAY.name: absence(1, arena, policy).success,
            WEEK_AWAY.name: absence(7, arena, policy).success,
            KETTLES.name: habit("kettle", USUAL["kettle"], 28, arena, policy).success,
        }

    def _of_a_month(self, setting: Setting) -> dict[str, float]:
        """Of answers of a month, the energy of what is hidden is all that matters."""
        days, arena = preset("appliances", interval="1m"), self.arena
        pairs = {
            KETTLE: arena.uses("kettle", days),
            TV: arena.uses("tv", days),
            DAY_AWAY: arena.away(1, days),
            WEEK_AWAY: arena.away(7, days),
            KETTLES: usual(arena.long_street(days), "kettle", DAY, DAYS),
        }
        told = {secret.name: by_energy(some, setting) for secret, some in pairs.items()}
        return {EVENING.name: self._evening(setting), **told}

    def _evening(self, setting: Setting) -> float:
        """In the register that holds all evenings, if there are any: its answer moves more."""
        policy = preset("bill")
        if setting.registers:
            low, high = setting.registers[0]
            [asked] = policy.questions
            asked = replace(asked, nano=asked.nano * 24 // (high - low))
            policy = replace(policy, questions=(asked,))
        return next(v.success for v in bill.attack(policy, self.run) if "evenings" in v.contest)


def by_energy(pairs: Sequence[Pair], setting: Setting) -> float:
    """How often one answer about a month tells pairs apart, each by what it moves.

    Rounded up to the grid.
    """
    step, [asked] = float(setting.policy.domain.resolution), setting.policy.questions
    each = []
    for pair in pairs:
        moved = (pair.having.watts - pair.lacking.watts) * pair.having.interval
        hours = pair.having.times() / HOUR % 24
        draws: Counter[Draw] = Counter()
        for low, high in setting.registers or ((0, 24),):
            length = MONTH * ((high - low) % 24 or 24) / 24
            told = abs(float(moved[within((low, high), hours)].sum())) / length
            draws[Draw(asked.nano, (int(np.ceil(told / step)),))] += 1
        each.append(right(draws, step))
    return float(np.mean(each))
