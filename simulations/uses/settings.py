"""The settings that are looked at: every preset, and plain averages, of homes and of feeders."""

from dataclasses import dataclass, replace
from decimal import Decimal

from meteragent.config.presets import presets
from meteragent.privacy.policy import Policy
from meteragent.privacy.units import duration, watts
from simulations.home.policies import HOUR, all_presets, plain, preset
from simulations.home.street import DAYS, QUARTER
from simulations.kit.product import ENOUGH, FOR_EVER
from simulations.kit.traces import DAY

MONTH = DAYS * DAY
"""The shortest there is, in which one event weighs most."""
LENGTHS = {
    QUARTER: "15 min",
    2 * QUARTER: "30 min",
    HOUR: "1 h",
    DAY: "24 h",
    7 * DAY: "7 d",
    MONTH: "a month",
}


@dataclass(frozen=True, slots=True)
class Setting:
    """What is released of each home, or of all homes of a feeder in one draw."""

    name: str
    """Of a preset; nothing where numbers are all there is."""
    policy: Policy
    """Of a feeder, what its homes are promised: its sums have the noise of one home's answer."""
    feeder: bool = False
    registers: tuple[tuple[int, int], ...] = ()
    """From which hour to which each answer is about; a month's only."""

    @property
    def hours(self) -> float:
        """The length of a window."""
        return self.policy.size / HOUR

    @property
    def label(self) -> str:
        """For tables: `tv-content`, or what is asked."""
        where = "feeder, " if self.feeder else ""
        if self.registers:
            return f"`{self.name}` by day and night"
        return f"`{self.name}`" if self.name else f"{where}{self.words}"

    @property
    def noise(self) -> float:
        """The scale of the noise, in watts."""
        return 1 / float(self.policy.questions[0].epsilon)

    @property
    def words(self) -> str:
        """`1 h, 250 W`."""
        noise = f"{self.noise / 1000:.2g} kW" if self.noise >= 1000 else f"{self.noise:.3g} W"
        return f"{LENGTHS[self.policy.size]}, {noise}"


def settings() -> list[Setting]:
    """Homes by themselves, from the finest window to the longest; then feeders."""
    own = [
        Setting("", plain(QUARTER, "0.01")),
        Setting("", plain(QUARTER, "0.001")),
        Setting("", plain(HOUR, "0.004")),
        *(Setting(name, policy) for name, policy in all_presets(interval="1m").items()),
        Setting("bill", bill()),
        Setting("bill", bill(), registers=((7, 23), (23, 7))),
    ]
    drawn = [
        *(Setting(name, of_group(name), feeder=True) for name in presets("groups")),
        Setting("", plain(HOUR, "0.001"), feeder=True),
        Setting("", plain(DAY, "0.00025"), feeder=True),
    ]
    return [*own, *drawn]


def bill() -> Policy:
    """The preset `bill`, its month as a window of four weeks."""
    month = replace(preset("bill"), calendar=None, size=MONTH, hop=MONTH, horizon=MONTH)
    return replace(month, budget=ENOUGH, idle=FOR_EVER)


def of_group(name: str) -> Policy:
    """What a preset of groups promises each home, as a policy of it."""
    asked = presets("groups")[name].policy
    loss = Decimal(asked["epsilon"]) / watts("radius", asked["radius"])
    return plain(duration("window", asked["window"]), f"{loss:f}")
