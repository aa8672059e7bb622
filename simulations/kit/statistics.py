"""How sure a simulation is: confidence intervals of what it counted and measured."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

Floats = NDArray[np.float64]

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Share:
    """How often something happened, with the interval that holds its probability."""

    hits: int
    of: int
    confidence: float = CONFIDENCE

    @property
    def value(self) -> float:
        """The share that was seen."""
        return self.hits / self.of

    @property
    def low(self) -> float:
        """Lower end of the exact (Clopper-Pearson) interval."""
        tail = (1 - self.confidence) / 2
        return float(beta.ppf(tail, self.hits, self.of - self.hits + 1)) if self.hits else 0.0

    @property
    def high(self) -> float:
        """Upper end of it."""
        tail = (1 - self.confidence) / 2
        missed = self.of - self.hits
        return float(beta.ppf(1 - tail, self.hits + 1, missed)) if missed else 1.0

    def holds(self, chance: float) -> bool:
        """Whether so much is what mere guessing might have reached."""
        return self.low <= chance <= self.high

    def document(self) -> dict[str, float]:
        """For JSON."""
        return {
            "hits": self.hits,
            "of": self.of,
            "share": round(self.value, 6),
            "low": round(self.low, 6),
            "high": round(self.high, 6),
            "confidence": self.confidence,
        }


def bootstrap(
    samples: Floats,
    statistic: Callable[[Floats], float],
    draw: np.random.Generator,
    *,
    repeats: int = 1000,
    confidence: float = CONFIDENCE,
) -> tuple[float, float]:
    """The percentile interval of a statistic of independent samples (its rows)."""
    picks = draw.integers(0, len(samples), (repeats, len(samples)))
    seen = np.array([statistic(samples[pick]) for pick in picks])
    tail = (1 - confidence) / 2
    low, high = np.quantile(seen, [tail, 1 - tail])
    return float(low), float(high)
