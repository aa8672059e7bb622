"""What came out of it: how often an attacker is right, and how far off a whole street is."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulations.demo import attack
from simulations.demo.replay import Published
from simulations.demo.street import FILMS
from simulations.kit.statistics import Share, bootstrap


class Off(NamedTuple):
    """How far off something is on average, as a share of the mean load, and its 95 % interval."""

    mean: float
    low: float
    high: float

    @property
    def words(self) -> str:
        """`0.7 %`."""
        return f"{100 * self.mean:.1f} %"


@dataclass(frozen=True, slots=True)
class Findings:
    """All that the picture shows besides traces."""

    by_readings: NDArray[np.float64]
    """by_readings[home, film]: what an attacker believes who has the meter's readings."""
    by_releases: NDArray[np.float64]
    """The same of one who has what is published, of the home and of the whole street."""
    shown: NDArray[np.int64]
    """shown[home]: the film that was on."""
    true: NDArray[np.float64]
    """true[window]: the street's sum, in watts."""
    together: NDArray[np.float64]
    """What is released of it, in one draw for all homes."""
    added_up: NDArray[np.float64]
    """What the homes' own releases add up to."""

    @property
    def homes(self) -> int:
        """How many there are."""
        return len(self.by_readings)

    def right(self, beliefs: NDArray[np.float64]) -> Share:
        """In how many homes the likeliest film is the right one."""
        return Share(int((beliefs.argmax(axis=1) == self.shown).sum()), self.homes)

    def off(self, released: NDArray[np.float64]) -> "Off":
        """By how much the street's sum is off, window by window."""
        known = np.isfinite(released)
        apart = np.abs(released - self.true)[known] / self.true[known].mean()
        draw = np.random.default_rng(0)  # of the interval, and of nothing else
        low, high = bootstrap(apart, lambda some: float(some.mean()), draw)
        return Off(float(apart.mean()), low, high)

    @property
    def words(self) -> str:
        """In six lines."""
        together, added_up = self.off(self.together), self.off(self.added_up)
        with_readings, with_releases = map(self.right, (self.by_readings, self.by_releases))
        return (
            f"an attacker who knows all else, of all homes, names the film, one of {FILMS},\n"
            f"  from the meter's readings:   in {with_readings.hits} of {self.homes} homes\n"
            f"  from what is published:      in {with_releases.hits} of {self.homes} homes, "
            f"{rate(with_releases)}\n"
            f"  by guessing:                 in {100 / FILMS:.1f} %\n"
            f"the street's sum, released in one draw: off by {together.words} in a window;\n"
            f"  added up from what homes publish: by {added_up.words}"
        )

    @property
    def document(self) -> dict[str, object]:
        """What a caption may say."""
        return {
            "films": FILMS,
            "guessing": 1 / FILMS,
            "by_readings": self.right(self.by_readings).document(),
            "by_releases": self.right(self.by_releases).document(),
            "street": {
                "windows": len(self.true),
                "one_draw": self.off(self.together)._asdict(),
                "added_up": self.off(self.added_up)._asdict(),
            },
        }


def rate(share: Share) -> str:
    """A share of homes, and the interval that holds its probability."""
    low, high = 100 * share.low, 100 * share.high
    sure = f"{100 * share.confidence:.0f} %"
    return f"{100 * share.value:.1f} % ({sure} interval: {low:.1f} to {high:.1f} %)"


def find(published: Published) -> Findings:
    """Attack every home, and add the street up."""
    street, policy = published.street, published.policy
    homes = range(len(street.watts))
    by_readings = np.array([attack.from_readings(street, home) for home in homes])
    neighbours = attack.Neighbours(street, published.of_street)
    by_releases = np.array(
        [
            attack.together(
                attack.from_releases(street, home, published.values[home], policy),
                neighbours.belief(home, published.together),
            )
            for home in homes
        ]
    )
    windows = street.watts.reshape(len(homes), -1, policy.slots).mean(axis=2)
    return Findings(
        by_readings,
        by_releases,
        street.shown,
        windows.sum(axis=0),
        published.together,
        published.unbiased.sum(axis=0),
    )
