"""Policies that ask several queries, each at one total loss, with noise of either kind."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from meteragent.privacy.domain import Domain
from meteragent.privacy.policy import Noise, Policy
from meteragent.privacy.question import question
from simulations.home.house import Home
from simulations.home.policies import HOUR, MINUTE
from simulations.home.readers import recorded
from simulations.kit.command import Run
from simulations.kit.product import policy
from simulations.kit.traces import DAY, Trace

THREE, FIVE = ("min", "median", "max"), ("min", "p25", "median", "p75", "max")
DAYS, HOMES = 28, 4


@dataclass(frozen=True, slots=True)
class Setting:
    """Some queries of a window: all of them together lose 1 at a radius."""

    radius: int
    queries: Sequence[str]
    window: int

    @property
    def words(self) -> str:
        """What is asked at what price, for people."""
        return f"{len(self.queries)} of {self.window // MINUTE} min, {self.radius} W"

    def policy(self, noise: Noise) -> Policy:
        """Independent draws have equal shares of the loss; a joint one has all of it."""
        each = self.radius * (1 if noise == "joint" else len(self.queries))
        asked = [question(name, 1, each) for name in self.queries]
        domain = Domain(0, 24_000, max(1, min(10, self.radius // 5)))
        plain = policy(domain, asked, window=self.window, interval=MINUTE)
        return replace(plain, noise=noise)


SETTINGS = (
    Setting(25, THREE, 15 * MINUTE),
    Setting(100, THREE, 15 * MINUTE),
    Setting(500, FIVE, HOUR),
)


def traces(run: Run) -> Iterator[Trace]:
    """Recordings of a day and more, or simulated homes where there are none."""
    if run.traces is not None:
        for one in recorded(run.traces, MINUTE):
            if len(one.total.watts) * one.total.interval >= DAY:
                yield one.total
        return
    for number in range(1 if run.quick else HOMES):
        yield (
            Home.draw(run.seed, number, lacking=("pv",))
            .live(7 if run.quick else DAYS, interval=MINUTE)
            .trace()
        )
