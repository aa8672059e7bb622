"""What the noise of a release takes: one draw for all answers, and their order.

    python -m simulations.fleet draws            print times per window
    python -m simulations.fleet draws --check    end with 1 if a target is missed

Three answers of a window of 90 slots, 2,000 windows at once: the draw alone, for which words are
given, and the whole release as files and Kafka have it, from levels to bytes. Ways are timed in
turn, each by the processor, and compared round by round.

Targets: a joint draw of three answers at least 0.8 times as fast as three single ones; order at
most a tenth of a release.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from statistics import median

import numpy as np

from meteragent.formats.encoder import Encoder
from meteragent.privacy.domain import Domain
from meteragent.privacy.entropy import Entropy, NoiseKey
from meteragent.privacy.order import Order
from meteragent.privacy.policy import Noise, Policy
from meteragent.privacy.query import answer
from meteragent.privacy.question import question
from meteragent.privacy.release import Releaser
from meteragent.stream.releases import Releases, Withheld
from simulations.kit.product import policy

WINDOWS, SLOTS, INTERVAL = 2_000, 90, 10_000
QUERIES = ("min", "avg", "max")
LEAST_SPEED, MOST_ORDER = 0.8, 0.1
KEY = NoiseKey(bytes(range(32)))


def asking(noise: Noise) -> Policy:
    """Three answers that lose 1 at 100 W together."""
    each = 100 * (1 if noise == "joint" else len(QUERIES))
    asked = [question(name, 1, each) for name in QUERIES]
    plain = policy(Domain(0, 24_000, 10), asked, window=SLOTS * INTERVAL, interval=INTERVAL)
    return replace(plain, noise=noise)


class Work:
    """Windows to be released under one policy."""

    def __init__(self, noise: Noise) -> None:
        self.policy = asking(noise)
        draw = np.random.default_rng(1)
        base = draw.integers(0, 300, (WINDOWS, 1))
        levels = base + draw.integers(0, 60, (WINDOWS, SLOTS))
        self.levels = levels.astype(self.policy.domain.dtype)
        self.tags = draw.integers(0, 256, (WINDOWS, 16), dtype=np.uint8)
        self.starts = np.arange(WINDOWS) * self.policy.size
        self.heard = np.full(WINDOWS, SLOTS)
        self.granted = np.full(WINDOWS, len(QUERIES))
        self.answers = answer(tuple(q.query for q in self.policy.questions), self.levels)
        self.mechanism = self.policy.mechanism(self.policy.questions[0])
        rows = self.mechanism.shared_rows + len(QUERIES)
        entropy = Entropy(KEY, self.policy.digest)
        self.words = entropy.words(self.tags, self.starts, self.heard, self.answers, rows)
        self.drawn, _ = self.mechanism.release(self.answers, self.words)
        self.order = Order([q.query for q in self.policy.questions], [1] * len(QUERIES))
        self._releaser, self._encoder = Releaser(self.policy, KEY), Encoder([self.policy])

    def draw(self) -> None:
        """The noise alone."""
        self.mechanism.release(self.answers, self.words)

    def agree(self) -> None:
        """The order alone."""
        self.order.agreed(self.drawn)

    def release(self) -> None:
        """From levels to bytes."""
        values, unbiased = self._releaser.release(
            self.tags, self.starts, self.heard, self.levels, self.granted
        )
        self._encoder.encode(
            Releases(
                self.policy,
                ["m"] * WINDOWS,
                self.starts,
                self.granted,
                [Withheld.NOTHING] * WINDOWS,
                np.full(WINDOWS, self.levels.shape[1]),
                self.levels >= 0,
                values,
                unbiased,
            )
        )


def timed(ways: dict[str, Callable[[], None]], rounds: int) -> dict[str, list[float]]:
    """Nanoseconds per window, way by way, each round all of them in turn."""
    took: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds + 1):
        for name, work in ways.items():
            begun = time.thread_time_ns()
            work()
            took[name].append((time.thread_time_ns() - begun) / WINDOWS)
    return {name: each[1:] for name, each in took.items()}


def main(arguments: list[str]) -> int:
    """Print what each way takes, and the two ratios."""
    parser = argparse.ArgumentParser(
        prog="python -m simulations.fleet draws",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rounds", type=int, default=101)
    parser.add_argument("--check", action="store_true", help="end with 1 if a target is missed")
    given = parser.parse_args(arguments)
    own, joint = Work("independent"), Work("joint")
    took = timed(
        {
            "three draws": own.draw,
            "one joint draw": joint.draw,
            "order": own.agree,
            "release, three draws": own.release,
            "release, one joint draw": joint.release,
        },
        given.rounds,
    )
    for name, each in took.items():
        print(f"{name:<24}{median(each):>10,.0f} ns per window")
    speed = _ratio(took["three draws"], took["one joint draw"])
    order = _ratio(took["order"], took["release, three draws"])
    print(f"joint draws are {speed:.2f} times as fast (at least {LEAST_SPEED})")
    print(f"order is {order:.1%} of a release (at most {MOST_ORDER:.0%})")
    return int(given.check and (speed < LEAST_SPEED or order > MOST_ORDER))


def _ratio(one: list[float], other: list[float]) -> float:
    """The median over the rounds: what else the machine does is in both."""
    return median(a / b for a, b in zip(one, other, strict=True))
