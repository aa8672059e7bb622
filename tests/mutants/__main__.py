"""Small mistakes, one at a time: does a test notice? `python -m tests.mutants --help`."""

from __future__ import annotations

import difflib
import random
import sys
import tempfile
from argparse import ArgumentParser
from pathlib import Path
from typing import NamedTuple

from tests.mutants.changes import Change, changes
from tests.mutants.suites import PURE, ROOT, on_a_broker, suite
from tests.mutants.trial import Trial


class Mutant(NamedTuple):
    """A module with a mistake in it."""

    module: str
    source: bytes
    change: Change

    @property
    def mistaken(self) -> bytes:
        """Its text."""
        return self.change.made(self.source)

    def diff(self) -> str:
        """What differs."""
        before, after = (
            text.decode().splitlines(keepends=True) for text in (self.source, self.mistaken)
        )
        return "".join(difflib.unified_diff(before, after, self.module, self.module, n=2))

    def __str__(self) -> str:
        return f"{self.module}:{self.change.line}: {self.change.kind}"


def mutants(places: list[str]) -> list[Mutant]:
    """All mistakes in these folders, modules, or lines such as `meteragent/errors.py:17`."""
    found = []
    for place in places:
        path, _, line = place.partition(":")
        at = ROOT / path
        for file in sorted(at.glob("*.py")) if at.is_dir() else [at]:
            source = file.read_bytes()
            module = file.relative_to(ROOT).as_posix()
            found += [
                Mutant(module, source, change)
                for change in changes(source)
                if line in {"", str(change.line)}
            ]
    return found


def drawn(places: list[str], seed: int, count: int) -> list[Mutant]:
    """Some of them, in the order of the modules."""
    every = mutants(places)
    return sorted(random.Random(seed).sample(every, min(count, len(every))))


def main() -> int:
    """Draw mistakes, try each, and show those that nobody noticed."""
    parser = ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="which mistakes (default: 0)")
    parser.add_argument("--count", type=int, default=100, help="how many (default: 100)")
    parser.add_argument(
        "--broker", action="store_true", help="show survivors to the tests on a broker, too"
    )
    parser.add_argument(
        "places", nargs="*", default=[*PURE], help="folders, modules, or MODULE:LINE"
    )
    asked = parser.parse_args()
    chosen = drawn(asked.places, asked.seed, asked.count)
    survivors = []
    with tempfile.TemporaryDirectory() as directory:
        trial = Trial(Path(directory))
        trial.without_mistake(sorted({suite(mutant.module) for mutant in chosen}))
        for mutant in chosen:
            verdict = trial.with_mistake(mutant.module, mutant.mistaken, suite(mutant.module))
            if asked.broker and not verdict.found and on_a_broker(mutant.module):
                tests = on_a_broker(mutant.module)
                verdict = trial.with_mistake(mutant.module, mutant.mistaken, tests)
            word = "found   " if verdict.found else "SURVIVED"
            print(f"{word} {verdict.seconds:5.1f} s  {mutant}  {verdict.said[:80]}", flush=True)
            if not verdict.found:
                survivors.append(mutant)
                print(mutant.diff(), flush=True)
    found = len(chosen) - len(survivors)
    print(f"{found} of {len(chosen)} mistakes found: {found / max(1, len(chosen)):.0%}")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
