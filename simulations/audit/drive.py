"""Runs the product's `sanitize`, as anybody would from a shell, and reads what it published."""

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulations.audit.builds import STOCK
from simulations.audit.worlds import Experiment, lines

ROOT = Path(__file__).resolve().parents[2]

AT_ONCE = 2
"""Processes that run side by side."""

Seen = NDArray[np.float64]
"""seen[draw, output]: everything that was released of one meter, in watts."""


@dataclass(frozen=True)
class Sizes:
    """How much is drawn."""

    keys: int
    meters: int

    @property
    def draws(self) -> int:
        """Of each world."""
        return self.keys * self.meters


@dataclass(frozen=True)
class Observed:
    """What the world saw of both worlds, and what it was promised about them."""

    one: Seen
    other: Seen
    claimed: float
    """Log-odds: the epsilons that the releases of differing windows state, at the distance."""
    otherwise_equal: bool
    """Whether the documents differ in nothing but released values."""


@dataclass(frozen=True)
class _Pass:
    """One file of releases."""

    values: Seen
    losses: dict[int, float]
    """window start -> loss per watt that its release states."""
    rest: bytes
    """A digest of the documents without what is noisy, meter by meter: their order is timing."""


def observe(experiment: Experiment, build: str, sizes: Sizes, seed: int) -> Observed:
    """Both worlds through one build, for every key, every meter by itself."""
    keys = list(_keys(seed, sizes.keys))
    others = [False] * len(keys) + [True] * len(keys)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        done = list(pool.map(partial(_run, experiment, build, sizes.meters), others, keys * 2))
    runs = done[: len(keys)], done[len(keys) :]
    one, other = (
        np.concatenate([np.concatenate([p.values for p in passes], axis=1) for passes in world])
        for world in runs
    )
    same = all(
        a.rest == b.rest
        for first, second in zip(*runs, strict=True)
        for a, b in zip(first, second, strict=True)
    )
    per_watt = sum(
        released.losses[start]
        for released, starts in zip(runs[0][0], experiment.differing(), strict=True)
        for start in starts
    )
    return Observed(one, other, per_watt * experiment.distance(), same)


def _keys(seed: int, count: int) -> Iterator[str]:
    """Noise keys, as a key file holds them."""
    for number in range(count):
        yield blake2b(f"audit {seed} {number}".encode(), digest_size=32).hexdigest()


def _run(
    experiment: Experiment,
    build: str,
    meters: int,
    other: bool,  # noqa: FBT001 - which of the two
    key: str,
) -> list[_Pass]:
    names = [f"m-{number}" for number in range(meters)]
    released = []
    with TemporaryDirectory(prefix="meteragent-audit-") as directory:
        secret, given, made = (Path(directory) / name for name in ("key", "in.jsonl", "out.jsonl"))
        secret.write_text(key)
        secret.chmod(0o600)
        for world in experiment.passes(other):
            given.write_text(lines(world, names), encoding="utf-8")
            _sanitize(build, [str(given), "-o", str(made), f"--key-file={secret}"], experiment)
            released.append(_read(made, names))
            made.unlink()
    return released


def _sanitize(build: str, arguments: list[str], experiment: Experiment) -> None:
    module = ["meteragent"] if build == STOCK else ["simulations.audit.builds", build]
    command = [sys.executable, "-m", *module, "sanitize", *arguments, *experiment.settings()]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise RuntimeError(done.stderr)


def _read(file: Path, names: list[str]) -> _Pass:
    """Releases by meter, windows in their order."""
    rows: dict[str, list[float]] = {name: [] for name in names}
    losses: dict[int, float] = {}
    rest: dict[str, list[str]] = {name: [] for name in names}
    with file.open(encoding="utf-8") as released:
        for line in released:
            document = json.loads(line)
            document.pop("values")  # worked out from what was drawn, which is told as well
            drawn = [*_flat(document.pop("unbiased"))]
            rows[document["meter_id"]] += drawn
            each = [float(loss) for loss in document["epsilon"].values()]
            per_answer = len(drawn) // len(each) if each else 0
            losses[document["window_start"]] = sum(each) * per_answer
            rest[document["meter_id"]].append(json.dumps(document, sort_keys=True))
    digest = blake2b("\n".join(line for name in names for line in rest[name]).encode()).digest()
    return _Pass(np.array([rows[name] for name in names]), losses, digest)


def _flat(answers: dict[str, Any]) -> Iterator[float]:
    for answer in answers.values():
        yield from answer if isinstance(answer, list) else [answer]
