"""What each setting tells of a home: by the attacker who knows all else, worked out.

Of a feeder's sums that attacker knows every other home, so that what is left is one home's answer
with the noise of one home's.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from meteragent.explain.advantage import Draw, right
from meteragent.privacy.policy import Policy
from simulations.choose import bill
from simulations.home.likelihood import Pair
from simulations.home.policies import preset
from simulations.home.yardstick import USUAL, Arena, absence, habit, whether
from simulations.kit.command import Run
from simulations.kit.yardstick import MORE, TIMES
from simulations.tv.yardstick import TvContent
from simulations.uses.settings import MONTH, Setting


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
            return self._of_a_month(setting.policy)
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

    def _of_a_month(self, policy: Policy) -> dict[str, float]:
        """One answer, of which the energy of what is hidden is all that matters."""
        days = preset("appliances", interval="1m")
        evenings = [v for v in bill.attack(preset("bill"), self.run) if "evenings" in v.contest]
        pairs: dict[str, Callable[[], Sequence[Pair]]] = {
            KETTLE.name: lambda: self.arena.uses("kettle", days),
            TV.name: lambda: self.arena.uses("tv", days),
            DAY_AWAY.name: lambda: self.arena.away(1, days),
            WEEK_AWAY.name: lambda: self.arena.away(7, days),
        }
        told = {name: _by_energy(made(), policy) for name, made in pairs.items()}
        usual = habit("kettle", USUAL["kettle"], 28, self.arena, policy).success
        return {EVENING.name: evenings[0].success, **told, KETTLES.name: usual}


def _by_energy(pairs: Sequence[Pair], policy: Policy) -> float:
    """Rounded up to the grid."""
    step, [asked] = float(policy.domain.resolution), policy.questions
    each = []
    for pair in pairs:
        moved = abs(float((pair.having.watts - pair.lacking.watts).sum())) * pair.having.interval
        levels = int(np.ceil(moved / MONTH / step))
        each.append(right({Draw(asked.nano, (levels,)): 1}, step))
    return float(np.mean(each))
