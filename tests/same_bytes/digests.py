"""Digests of what was released, spent and promised: `python -m tests.same_bytes.digests`.

Each case is a line for each thing that comes of it, so that a change that is meant touches its
own lines only. The lines say what commit 478b133 did, before the folders were the architecture,
but for what was changed on purpose since: empty windows of private meters whose range begins
below 0 W (drawn: 8, 19, 21, 25), the key of the files, which had become too plain, the layout of
accounts, which have a ring for each policy of their meter, the windows of private meters, which
the clock of the partition alone closes, the order of releases in files, which is that of the
records, the readings of public windows, which are told in classes, the values of queries that are
in an order, which agree with it, noise, which is bound to a window's exact answers, and presets,
which bear an hour's disorder, and `tv-content`, whose steps its radius is a whole number of.
"""

from __future__ import annotations

import json
import os
import tempfile
from functools import partial
from hashlib import blake2b
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from meteragent.commands.schema import SCHEMAS
from tests.same_bytes import messages, policies
from tests.same_bytes.exports import EXPORTS, Export, sanitized
from tests.same_bytes.partitions import CALM, ROUGH, run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from meteragent.config import Config
    from tests.same_bytes.messages import Message
    from tests.same_bytes.partitions import Fate

FILE = Path(__file__).with_name("digests.txt")
DRAWN = 30

Made = dict[str, "Iterable[object]"]
"""What -> all of it, as bytes, numbers and texts."""


def _promises(config: Config) -> Iterable[object]:
    """What a policy is called, and what its accounts are kept by."""
    for prefix, policy in ((one.prefix, one.policy) for one in config.assigned):
        terms = policy.terms
        yield from (prefix, policy.id, policy.digest, policy.document(), terms.costs, terms.unit)
        yield from (terms.per_horizon, terms.span, terms.bucket, terms.reach, terms.slack)


def streamed(
    config: Config, log: list[Message], seed: str, fate: Fate = ROUGH, later: Config | None = None
) -> Made:
    """What comes of a partition."""
    made = run(config, log, Random(seed), fate, later)
    at = [(p.offset, p.clock, p.processed, p.ticks) for p in made.positions]
    return {
        "inputs": log,
        "policies": _promises(config),
        "releases": sorted(made.releases.items()),
        "accounts": [sorted(written.items()) for written in made.accounts],
        "rejects": made.rejects,
        "positions": at,
    }


def _of(tables: list[policies.Table], seed: str, later: list[policies.Table] | None = None) -> Made:
    settings = policies.config(tables)
    interval = min(policy.interval for policy in settings.policies)
    log = messages.troubled(Random(f"log {seed}"), interval, 1500, messages.METERS)
    return streamed(settings, log, seed, later=policies.config(later) if later else None)


def _drawn(number: int) -> Made:
    table = policies.drawn(Random(f"policy {number}"))
    return _of([table], f"drawn {number}")


def _preset(name: str) -> Made:
    settings = policies.config([{"preset": name}])
    [policy] = settings.policies
    days = 3 * policy.size // 86_400_000
    return streamed(settings, messages.homes(2, days, policy.interval, 90), name, CALM)


def _evening() -> Made:
    table = {"preset": "tv-content", "window": "5m", "interval": "2s", "budget": "30"}
    return streamed(policies.config([table]), messages.evening(3, 3600), "evening")


def _file(export: Export) -> Made:
    return {"inputs": [export.text, export.arguments], **sanitized(export)}


def _schemas() -> Made:
    """What others hold readings and releases against: frozen with 0.2, but for its wording."""
    names = ("policy", "reading", "reject", "release")
    schemas = {name: json.dumps(_unworded(SCHEMAS[name]())) for name in names}
    return {"inputs": sorted(schemas), **{name: [schema] for name, schema in schemas.items()}}


def _unworded(schema: object) -> object:
    """Without what is for people."""
    if isinstance(schema, dict):
        words = {name for name in ("title", "description") if isinstance(schema.get(name), str)}
        return {name: _unworded(its) for name, its in schema.items() if name not in words}
    return [*map(_unworded, schema)] if isinstance(schema, list) else schema


CHANGED = policies.SHORT | {"window": "7m", "interval": "1m", "budget": "11", "horizon": "5h"}
CASES: dict[str, Callable[[], Made]] = {
    **{f"policy: {name}": partial(_of, t, name) for name, t in policies.NAMED.items()},
    **{f"preset: {name}": partial(_preset, name) for name in policies.PRESETS},
    "an evening of television": _evening,
    "other terms from half way on": partial(_of, [policies.SHORT], "terms", [CHANGED]),
    **{f"drawn: {number}": partial(_drawn, number) for number in range(DRAWN)},
    **{f"file: {name}": partial(_file, export) for name, export in EXPORTS.items()},
    "schemas": _schemas,
}


def digests(case: str) -> dict[str, str]:
    """`CASE: WHAT` -> digest. Precondition: the present directory is empty, or nobody's."""
    return {f"{case}: {what}": _digest(parts) for what, parts in CASES[case]().items()}


def _digest(parts: Iterable[object]) -> str:
    hashed = blake2b(digest_size=16)
    for part in parts:
        hashed.update(repr(part).encode() + b"\n")
    return hashed.hexdigest()


def kept() -> dict[str, str]:
    """What stands in the file."""
    lines = FILE.read_text("utf-8").splitlines()
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def write(file: Path) -> None:
    """All digests, a line each."""
    lines = []
    for case in CASES:
        with tempfile.TemporaryDirectory() as directory:
            os.chdir(directory)
            lines += [f"{digest}  {name}\n" for name, digest in digests(case).items()]
            os.chdir(file.parent)
    file.write_text("".join(lines), "utf-8")


if __name__ == "__main__":
    write(FILE)
