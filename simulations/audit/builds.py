"""Builds of the product with one mistake each: an audit that finds none is worth nothing.

    python -m simulations.audit.builds half-even sanitize IN -o OUT …

The mistakes live in this process and nowhere else: the product has no switch for them.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from meteragent import cli
from meteragent.privacy import query
from meteragent.privacy.domain import Domain
from meteragent.privacy.entropy import Entropy, Tags, WindowWords
from meteragent.privacy.mechanism import TruncatedGeometric
from meteragent.privacy.query import Answers
from meteragent.privacy.thresholds import Words

CUT = 4.0
"""Scale lengths beyond which a careless sampler cuts its noise: 1 draw in 55 lies there."""

LESS_NOISE = Decimal("1.15")

STOCK = "stock"


def half_even() -> None:
    """Averages rounded half to even, as `round` and `np.rint` do."""

    def answer(contents: query.Contents) -> query.Answers:
        mean = np.rint(contents.total / np.maximum(contents.present, 1)).astype(np.int64)
        return mean[:, np.newaxis]

    query.NAMED["avg"] = query.Query("avg", answer)


def cut_tail() -> None:
    """Laplace noise in floats, bounded "to keep outliers away", then rounded."""

    def noise(self: TruncatedGeometric, words: Words) -> NDArray[np.int64]:
        scale = 1 / float(self.epsilon * self.domain.resolution)
        uniform = (words.first >> np.uint64(11)).astype(np.float64) / 2**53 - 0.5
        drawn = -scale * np.sign(uniform) * np.log1p(-2 * np.abs(uniform))
        bounded: NDArray[np.int64] = np.rint(np.clip(drawn, -CUT * scale, CUT * scale)).astype(int)
        return bounded

    TruncatedGeometric.noise = noise  # type: ignore[method-assign]


def _with_words_of(start: Callable[[NDArray[np.int64]], NDArray[np.int64]]) -> None:
    honest = Entropy.words

    def words(
        self: Entropy,
        tags: Tags,
        starts: NDArray[np.int64],
        heard: NDArray[np.int64],
        answers: Answers,
        outputs: int,
    ) -> WindowWords:
        nothing = np.zeros_like(heard), np.zeros_like(answers)
        return honest(self, tags, start(starts), *nothing, outputs)

    Entropy.words = words  # type: ignore[method-assign]


def answer_free() -> None:
    """Noise from key, policy, meter and window alone: the answers are left out."""
    _with_words_of(lambda starts: starts)


def window_free() -> None:
    """Noise from key, policy and meter alone: the same in every window."""
    _with_words_of(np.zeros_like)


def stingy() -> None:
    """Less noise than the releases state."""
    honest = TruncatedGeometric.__init__

    def init(
        self: TruncatedGeometric,
        domain: Domain,
        epsilon: Decimal | int | str,
        *,
        unclamped: bool = False,
    ) -> None:
        honest(self, domain, Decimal(epsilon) * LESS_NOISE, unclamped=unclamped)

    TruncatedGeometric.__init__ = init  # type: ignore[method-assign]


@dataclass(frozen=True)
class Build:
    """One mistake."""

    name: str
    mistake: str
    make: Callable[[], None]


BUILDS = (
    Build("half-even", "averages are rounded half to even", half_even),
    Build("cut-tail", f"float noise is cut at {CUT:g} scale lengths", cut_tail),
    Build("answer-free", "noise is not bound to the answers", answer_free),
    Build("window-free", "noise is not bound to the window at all", window_free),
    Build("stingy", "15 % more loss than the releases state", stingy),
)


def main(arguments: list[str]) -> int:
    """Make the mistake, then be the product's command line."""
    name, *rest = arguments
    next(build for build in BUILDS if build.name == name).make()
    return cli.main(rest)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
