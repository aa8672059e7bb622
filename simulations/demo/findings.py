"""What came out of it: how often an attacker is right, and how far off a whole street is."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulations.demo import attack
from simulations.demo.replay import Published
from simulations.demo.street import FILMS
from simulations.kit.statistics import Share


@dataclass(frozen=True, slots=True)
class Findings:
    """All that the picture shows besides traces."""

    by_readings: NDArray[np.float64]
    """by_readings[home, film]: what an attacker believes who has the meter's readings."""
    by_releases: NDArray[np.float64]
    """The same of one who has what is published."""
    shown: NDArray[np.int64]
    """shown[home]: the film that was on."""
    true: NDArray[np.float64]
    """true[window]: the street's sum, in watts."""
    released: NDArray[np.float64]
    """What the releases add up to."""

    @property
    def homes(self) -> int:
        """How many there are."""
        return len(self.by_readings)

    def right(self, beliefs: NDArray[np.float64]) -> Share:
        """In how many homes the likeliest film is the right one."""
        return Share(int((beliefs.argmax(axis=1) == self.shown).sum()), self.homes)

    @property
    def off(self) -> float:
        """The share by which the day's energy is off."""
        known = np.isfinite(self.released)
        return abs(float(self.released[known].sum() / self.true[known].sum()) - 1)

    @property
    def words(self) -> str:
        """In five lines."""
        with_readings, with_releases = map(self.right, (self.by_readings, self.by_releases))
        return (
            f"an attacker who knows everything else about a home names the film, one of {FILMS},\n"
            f"  from the meter's readings:   in {with_readings.hits} of {self.homes} homes\n"
            f"  from what is published:      in {with_releases.hits} of {self.homes} homes, "
            f"{rate(with_releases)}\n"
            f"  by guessing:                 in {100 / FILMS:.1f} %\n"
            f"the street's energy of the day, from what is published: off by {self.off:.2%}"
        )

    @property
    def document(self) -> dict[str, object]:
        """What a caption may say."""
        return {
            "films": FILMS,
            "guessing": 1 / FILMS,
            "by_readings": self.right(self.by_readings).document(),
            "by_releases": self.right(self.by_releases).document(),
            "energy_off": self.off,
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
    by_releases = np.array(
        [attack.from_releases(street, home, published.values[home], policy) for home in homes]
    )
    windows = street.watts.reshape(len(homes), -1, policy.slots).mean(axis=2)
    return Findings(
        by_readings,
        by_releases,
        street.shown,
        windows.sum(axis=0),
        published.unbiased.sum(axis=0),
    )
