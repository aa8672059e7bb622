"""The frame of every command: arguments, progress, and where results go.

A command writes `<name>.json` and its pictures into one folder; the same seed writes the very
same bytes. What a README or a preset quotes is read from there by a test.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from matplotlib.figure import Figure

RESULTS = Path(__file__).parent.parent / "results"
SEED = 20261118

Item = TypeVar("Item")


@dataclass
class Run:
    """One run of a command: what it was told, and what it found."""

    name: str
    seed: int
    out: Path
    quick: bool
    traces: Path | None
    command: str
    options: argparse.Namespace = field(default_factory=argparse.Namespace)
    """The arguments that the command added."""
    results: dict[str, Any] = field(default_factory=dict)
    figures: list[dict[str, str]] = field(default_factory=list)

    def each(self, items: Iterable[Item], label: str, total: int | None = None) -> Iterator[Item]:
        """The items, with a progress bar on a terminal."""
        known = list(items) if total is None else items
        count = len(known) if isinstance(known, list) else (total or 0)
        begun, shown = time.monotonic(), sys.stderr.isatty()
        for number, item in enumerate(known):
            if shown:
                done = number / max(count, 1)
                bar = "#" * round(done * 24)
                elapsed = time.monotonic() - begun
                left = f"{elapsed * (1 - done) / done:.0f} s left" if number else ""
                sys.stderr.write(f"\r\x1b[K[{bar:<24}] {done:4.0%}  {label}  {left}")
                sys.stderr.flush()
            yield item
        if shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def draw(self, *purpose: int) -> Any:  # noqa: ANN401 - numpy, imported late
        """A generator of its own for each purpose, so that one more draw moves no other."""
        import numpy as np  # noqa: PLC0415 - as above

        return np.random.default_rng([self.seed, *purpose])

    def picture(self, figure: Figure, name: str, title: str, caption: str) -> None:
        """Write a picture, and remember what it shows, in plain words, for the report."""
        self.out.mkdir(parents=True, exist_ok=True)
        file = f"{self.name}-{name}.png"
        figure.savefig(self.out / file, dpi=110, metadata={"Software": None})
        self.figures.append({"file": file, "title": title, "caption": caption})

    def write(self) -> Path:
        """The numbers, with what made them."""
        self.out.mkdir(parents=True, exist_ok=True)
        document = {
            "simulation": self.name,
            "command": self.command,
            "seed": self.seed,
            "quick": self.quick,
            "figures": self.figures,
            "results": self.results,
        }
        file = self.out / f"{self.name}.json"
        text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
        file.write_text(text + "\n", encoding="utf-8")
        return file


def main(
    name: str,
    description: str | None,
    simulate: Callable[[Run], None],
    arguments: Callable[[argparse.ArgumentParser], None] | None = None,
) -> int:
    """`python -m simulations.<name>`: run it, write the results, say where they are."""
    parser = argparse.ArgumentParser(
        prog=f"python -m simulations.{name}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of JSON and pictures")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions, to try it out")
    parser.add_argument("--traces", type=Path, metavar="DIR", help="folder of real traces")
    if arguments:
        arguments(parser)
    given = parser.parse_args()
    flags = f" --seed {given.seed}" + " --quick" * given.quick
    flags += " --traces DIR" * (given.traces is not None)
    run = Run(
        name=name.replace(".", "-"),
        seed=given.seed,
        out=given.out,
        quick=given.quick,
        traces=given.traces,
        command=f"python -m simulations.{name}{flags}",
        options=given,
    )
    simulate(run)
    print(f"results: {run.write()}")
    return 0
