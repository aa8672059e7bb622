"""How fast releases are made and paid for, beside the field's libraries, in one run.

    python -m simulations.peers.sampling            print the tables, in under a minute
    python -m simulations.peers.sampling --check    end with 1 if a target is missed
    python -m simulations.peers.sampling --quick    small sizes: does it run?
    python -m simulations.peers.sampling --json F   write the numbers too

Everything is timed in rounds, one contender after the other, so that whatever else the
machine does meets all of them; what is printed is the median round. Times are of the
processor: each contender has one thread.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import sys
import time
from dataclasses import asdict, dataclass
from hashlib import blake2b
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from meteragent import Domain, Entropy, Ledger, NoiseKey, Terms, TruncatedGeometric, Windows
from meteragent.privacy.entropy import KEY_BYTES, TAG_BYTES
from meteragent.privacy.query import answer, query

if TYPE_CHECKING:
    from collections.abc import Callable

SEED = 2024
DOMAIN = Domain(0, 24_000, 10)  # 2400 levels above the lowest
EPSILON = "0.01"  # per watt: 0.1 per step
PER_STEP = 0.1
SLOTS = 90
QUERIES = tuple(map(query, ("avg", "median", "p95")))
QUARTER, DAY = 900_000, 86_400_000

LEAST_OVER_OPENDP = 25.0
LEAST_OF_DIGESTS = 0.4
MOST_PASSES = 3.0


@dataclass(frozen=True)
class Contender:
    """Something that makes `items` each time it is run."""

    name: str
    items: int
    run: Callable[[], object]


@dataclass(frozen=True)
class Target:
    """A number that was measured, and the bounds that were asked for."""

    what: str
    measured: float
    least: float = 0
    most: float = math.inf

    @property
    def met(self) -> bool:
        """Whether it lies within its bounds."""
        return self.least <= self.measured <= self.most

    def __str__(self) -> str:
        asked = f">= {self.least:g}" if self.least else f"<= {self.most:g}"
        return f"{self.what:40}{self.measured:8.2f}   {asked:8}{'met' if self.met else 'MISSED'}"


@dataclass(frozen=True)
class Sizes:
    """How much of everything, and how often."""

    samples: int = 1_000_000
    by_opendp: int = 20_000
    by_bounded_opendp: int = 50
    by_diffprivlib: int = 10_000
    windows: int = 20_000
    accounts: int = 1_000_000
    rounds: int = 5


QUICK = Sizes(20_000, 200, 3, 100, 200, 2000)


class GivenWords:
    """Uniform words that stand ready, one for each output; the few further ones are drawn."""

    def __init__(self, rng: np.random.Generator, outputs: int) -> None:
        self.rng = rng
        self.first = rng.integers(0, 2**64, (outputs, 1), dtype=np.uint64)

    def further(self, window: int, output: int, depth: int) -> int:  # noqa: ARG002 - any will do
        """The word at `depth` >= 1 of one row."""
        return int(self.rng.integers(0, 2**64, dtype=np.uint64))


def seconds_each(contenders: list[Contender], rounds: int) -> list[float]:
    """The median seconds per item of each, all of them run in every round."""
    times: list[list[float]] = [[] for _ in contenders]
    for _ in range(rounds):
        for contender, its in zip(contenders, times, strict=True):
            begin = time.process_time()
            contender.run()
            its.append((time.process_time() - begin) / contender.items)
    return [median(its) for its in times]


def samplers(sizes: Sizes, rng: np.random.Generator) -> list[Contender]:
    """The same noise on the same levels: ours from given words, then the others' own."""
    mechanism = TruncatedGeometric(DOMAIN, EPSILON)
    levels = rng.integers(0, DOMAIN.top + 1, (sizes.samples, 1))
    words = GivenWords(rng, sizes.samples)
    plain = [int(level) for level in levels[:, 0]]
    return [
        Contender("meteragent", sizes.samples, lambda: mechanism.sample(levels, words)),
        *_opendp(sizes, plain),
        _diffprivlib(plain[: sizes.by_diffprivlib]),
    ]


def _opendp(sizes: Sizes, levels: list[int]) -> list[Contender]:
    """Exact geometric noise on a vector, clamped by numpy; and its own bounded form.

    The bounded form takes the same time whatever it draws, and that time is long.
    """
    dp = import_module("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    on_vector = dp.m.make_geometric(*space, scale=1 / PER_STEP)
    bounded = dp.m.make_geometric(*space, scale=1 / PER_STEP, bounds=(0, DOMAIN.top))
    many, few = np.array(levels[: sizes.by_opendp], np.int32), levels[: sizes.by_bounded_opendp]
    return [
        Contender(
            "OpenDP, clamped by numpy", len(many), lambda: np.clip(on_vector(many), 0, DOMAIN.top)
        ),
        Contender("OpenDP, with bounds", len(few), lambda: bounded(few)),
    ]


def _diffprivlib(levels: list[int]) -> Contender:
    """One call per value; its noise is made of floats."""
    mechanism = import_module("diffprivlib.mechanisms").GeometricTruncated(
        epsilon=PER_STEP, sensitivity=1, lower=0, upper=DOMAIN.top
    )
    return Contender("diffprivlib", len(levels), lambda: [mechanism.randomise(x) for x in levels])


def releases(sizes: Sizes, rng: np.random.Generator) -> list[Contender]:
    """Windows from levels to corrected watts, and nothing but a keyed digest of each."""
    count, key = sizes.windows, rng.bytes(KEY_BYTES)
    levels = rng.integers(0, DOMAIN.top + 1, (count, SLOTS)).astype(DOMAIN.dtype)
    tags = rng.integers(0, 256, (count, TAG_BYTES)).astype(np.uint8)
    starts, heard = np.full(count, 2000 * QUARTER), np.full(count, SLOTS)
    entropy, mechanism = Entropy(NoiseKey(key), bytes(16)), TruncatedGeometric(DOMAIN, EPSILON)
    rows = [row.tobytes() for row in answer(QUERIES, levels)]

    def release() -> object:
        answers = answer(QUERIES, levels)
        words = entropy.words(tags, starts, heard, answers, len(QUERIES))
        released = mechanism.sample(answers, words)
        return released, mechanism.unbiased(released)

    def digest() -> object:
        return [blake2b(row, key=key, digest_size=64).digest() for row in rows]

    return [
        Contender("query, words, noise, unbiased", count, release),
        Contender("a bare keyed digest", count, digest),
    ]


def charges(sizes: Sizes) -> tuple[float, list[Contender]]:
    """Seconds per new account, then further charges and a pass over the same arrays."""
    costs = (4_000_000, 3_000_000, 3_000_000)
    ledger = Ledger(Terms(10**9, DAY, Windows(QUARTER, QUARTER, QUARTER), costs), sizes.accounts)
    accounts, starts = np.arange(sizes.accounts), np.full(sizes.accounts, 2000 * QUARTER)

    def charge() -> None:
        starts[:] += QUARTER
        ledger.charge(accounts, starts)

    def one_pass() -> list[int]:
        columns = (ledger.buckets, ledger.head, ledger.spent, ledger.released_until)
        return [int(column.sum()) for column in columns]

    (first,) = seconds_each([Contender("first", sizes.accounts, charge)], 1)
    return first, [
        Contender("a window charged to every account", sizes.accounts, charge),
        Contender("one numpy sum over the same arrays", sizes.accounts, one_pass),
    ]


def compare(sizes: Sizes) -> tuple[dict[str, float], list[Target]]:
    """Measure and print all of it; answer seconds per item by name, and the targets."""
    rng, measured = np.random.default_rng(SEED), {}

    def table(title: str, contenders: list[Contender]) -> list[float]:
        each = seconds_each(contenders, sizes.rounds)
        print(f"\n{title}")
        for contender, seconds in zip(contenders, each, strict=True):
            print(f"  {contender.name:36}{1 / seconds:15,.0f} /s {seconds / each[0]:12,.2f}")
            measured[contender.name] = seconds
        return each

    print("\nlast column: time taken, in times that of the first row")
    ours, opendp, *_ = table(
        f"samples from given words, k = {DOMAIN.top}, epsilon {PER_STEP} per step",
        samplers(sizes, rng),
    )
    release, digest = table(
        f"windows of {SLOTS} slots, queries {', '.join(q.name for q in QUERIES)}",
        releases(sizes, rng),
    )
    first, contenders = charges(sizes)
    charge, one_pass = table(f"{sizes.accounts:,} accounts", contenders)
    measured["the first charge of new accounts"] = first
    print(f"  the first charge of new accounts took {first / one_pass:.2f} passes")
    return measured, [
        Target("samples per second, times OpenDP's best", opendp / ours, LEAST_OVER_OPENDP),
        Target("windows per second, of bare digests", digest / release, LEAST_OF_DIGESTS),
        Target("seconds of a charge, in numpy passes", charge / one_pass, most=MOST_PASSES),
    ]


def processor() -> str:
    """The machine's own name for what it computes with."""
    described = Path("/proc/cpuinfo")
    lines = described.read_text().splitlines() if described.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and say whether the targets are met."""
    parser = argparse.ArgumentParser(prog="python -m simulations.peers.sampling")
    parser.add_argument("--check", action="store_true", help="end with 1 if a target is missed")
    parser.add_argument("--quick", action="store_true", help="small sizes: does it run?")
    parser.add_argument("--json", type=Path, help="write the numbers here")
    given = parser.parse_args(arguments)
    try:
        return _report(given)
    except ImportError as missing:
        sys.exit(f"{missing}; install the group `peers`: uv pip install --group peers")


def _report(given: argparse.Namespace) -> int:
    about = {name: version(name) for name in ("meteragent", "numpy", "opendp", "diffprivlib")}
    about |= {"python": platform.python_version(), "cpu": processor(), "seed": str(SEED)}
    print(", ".join(f"{name} {value}" for name, value in about.items()))
    measured, targets = compare(QUICK if given.quick else Sizes())
    print()
    for target in targets:
        print(target)
    if given.json:
        results = {"about": about, "seconds": measured, "targets": [asdict(t) for t in targets]}
        given.json.write_text(json.dumps(results, indent=2) + "\n")
    return int(given.check and not all(target.met for target in targets))


if __name__ == "__main__":
    sys.exit(main())
