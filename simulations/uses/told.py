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
from simulations.compare.equal import success
from simulations.home.contests import usual
from simulations.home.likelihood import Pair
from simulations.home.policies import HOUR, preset
from simulations.home.street import DAYS
from simulations.home.yardstick import USUAL, Arena, absence, habit, whether
from simulations.kit.command import Run
from simulations.kit.statistics import Floats
from simulations.kit.traces import DAY
from simulations.kit.yardstick import MORE, TIMES
from simulations.tv.yardstick import TvContent
from simulations.uses.settings import MONTH, Setting
from simulations.uses.street import within


@dataclass(frozen=True, slots=True)
class Secret:
    """Something that people may want to keep, and what guessing it gets."""

    name: str
    chance: float

    def kept(self, success: float) -> bool:
        """Whether an attacker gains next to nothing over guessing."""
        return success <= min(self.chance + MORE, TIMES * self.chance)


EVENING = Secret("an evening's channel, of 200", 0.005)
KETTLE = Secret("one kettle", 0.5)
TV = Secret("an evening of television", 0.5)
DAY_AWAY = Secret("a day away", 0.5)
WEEK_AWAY = Secret("a week away", 0.5)
KETTLES = Secret("kettles as usual, for four weeks", 0.5)
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
    """How often answers about a month tell pairs apart, each by the energy that it moves.

    Of one answer on average over its places on the grid; of registers, rounded up to it.
    """
    if not setting.registers:
        watts = (abs(float(_moved(pair).sum())) / MONTH for pair in pairs)
        return float(np.mean([success(setting.policy, one) for one in watts]))
    return float(np.mean([_in_registers(pair, setting) for pair in pairs]))


def _moved(pair: Pair) -> Floats:
    moved: Floats = (pair.having.watts - pair.lacking.watts) * pair.having.interval
    return moved


def _in_registers(pair: Pair, setting: Setting) -> float:
    step, [asked] = float(setting.policy.domain.resolution), setting.policy.questions
    hours = pair.having.times() / HOUR % 24
    draws: Counter[Draw] = Counter()
    for low, high in setting.registers:
        told = abs(float(_moved(pair)[within((low, high), hours)].sum()))
        levels = told / (MONTH * ((high - low) % 24) / 24) / step
        draws[Draw(asked.nano, (int(np.ceil(levels)),))] += 1
    return right(draws, step)
