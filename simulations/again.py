"""`python -m simulations.again`: every result once more, two at a time, compared byte for byte.

    python -m simulations.again --out DIR                         all that need no recordings
    python -m simulations.again --out DIR --sets DIR --homes DIR  those of recordings as well
    python -m simulations.again --out DIR --only uses practice    these alone
    python -m simulations.again --out DIR --at-once 1             beside other work

Each result names the command that made it; that command is run, and its numbers, pictures and pages
are held against those that are kept. What needs a broker, or measures the machine, is none of them.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from simulations.kit.command import RESULTS
from simulations.processes import ROOT

PREFIX = "python -m "
TRACES = "--traces DIR"
OF_HOMES = {"noise"}
"""What looks at recordings of homes; all else at those of television sets."""
AT_ONCE = 2
LONGEST = ("claims", "compare", "audit", "tv", "home")
"""These are begun first, so that none of them is left alone at the end."""


@dataclass(frozen=True, slots=True)
class Again:
    """One result, made once more."""

    name: str
    seconds: float
    work: float
    """Seconds of all processors, which others' work does not lengthen."""
    exit_code: int
    differing: list[str]
    """Files that are not, to the last byte, what is kept."""

    @property
    def same(self) -> bool:
        """Whether it ran, and everything is as it was."""
        return not self.exit_code and not self.differing

    def line(self) -> str:
        """For people."""
        said = "the same" if self.same else f"DIFFERS: {', '.join(self.differing) or 'failed'}"
        return f"{self.name:20} {self.seconds:6.0f} s, {self.work:6.0f} s of work  {said}"


def commands(results: Path) -> Iterator[tuple[str, str]]:
    """Name and command of every result with a seed: those can be made again."""
    for file in sorted(results.glob("*.json")):
        document = json.loads(file.read_text("utf-8"))
        if {"command", "seed", "figures"} <= document.keys():
            yield file.stem, document["command"]


def with_recordings(name: str, command: str, folders: dict[str, Path]) -> list[str] | None:
    """The command as words; none, if it needs recordings that are not there."""
    words = command.removeprefix(PREFIX)
    if TRACES in words:
        folder = folders.get("homes" if name in OF_HOMES else "sets")
        if folder is None:
            return None
        before, _, after = words.partition(TRACES)
        return [*before.split(), "--traces", str(folder), *after.split()]
    return words.split()


def again(name: str, words: Sequence[str], out: Path, results: Path) -> Again:
    """Run it, and compare all that it wrote."""
    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    running = subprocess.Popen(  # noqa: S603 - commands of this directory
        [sys.executable, "-m", *words, "--out", str(folder)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(running.pid, 0)
    running.returncode = os.waitstatus_to_exitcode(status)
    seconds, work = time.monotonic() - begun, used.ru_utime + used.ru_stime
    return Again(name, seconds, work, running.returncode, differing(folder, results))


def differing(made: Path, kept: Path) -> list[str]:
    """The names of files that are not as they were, or were not there."""
    return [
        file.name
        for file in sorted(made.iterdir())
        if not (kept / file.name).is_file() or (kept / file.name).read_bytes() != file.read_bytes()
    ]


def _rank(one: tuple[str, str]) -> tuple[int, str]:
    name, _ = one
    return (LONGEST.index(name) if name in LONGEST else len(LONGEST)), name


def _asked(every: list[tuple[str, str]], only: list[str] | None) -> list[tuple[str, str]]:
    if unknown := {*(only or ())} - {name for name, _ in every}:
        raise SystemExit(f"no result is kept of: {', '.join(sorted(unknown))}")
    return [one for one in every if only is None or one[0] in only]


def main(arguments: Sequence[str]) -> int:
    """All of them; 1 if any is not what is kept."""
    parser = argparse.ArgumentParser(
        prog="python -m simulations.again",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="DIR")
    parser.add_argument("--sets", type=Path, metavar="DIR", help="recordings of television sets")
    parser.add_argument("--homes", type=Path, metavar="DIR", help="recordings of homes")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="results, as their JSON is named")
    parser.add_argument("--at-once", type=int, default=AT_ONCE, metavar="N")
    given = parser.parse_args(arguments)
    folders = {name: getattr(given, name) for name in ("sets", "homes") if getattr(given, name)}
    begun, every = time.monotonic(), _asked(sorted(commands(given.results), key=_rank), given.only)
    todo = [(name, with_recordings(name, command, folders)) for name, command in every]
    for name, words in todo:
        if words is None:
            print(f"{name:24} left out: it needs recordings")
    with ThreadPoolExecutor(given.at_once) as pool:
        running = [
            pool.submit(again, name, words, given.out, given.results)
            for name, words in todo
            if words is not None
        ]
        done = []
        for one in running:
            done.append(one.result())
            print(done[-1].line(), flush=True)
    took, work = time.monotonic() - begun, sum(one.work for one in done)
    print(f"{len(done)} results in {took:.0f} s, {work:.0f} s of work")
    return int(not all(one.same for one in done))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
