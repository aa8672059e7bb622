"""What a meter takes of memory under each preset: as it is reported, resident, and while growing.

    python -m simulations.fleet memory                         every preset, as shipped
    python -m simulations.fleet memory --grace 1h --interval 10s 30s
    python -m simulations.fleet memory --preset tv-content --meters 1000000
    python -m simulations.fleet memory --check                 end with 1 if a target is missed

Each row is a process of its own, in which so many meters come one after the other, are heard until
a window is over, and pay for it. `resident` is by how much the process has grown, `peak` by how
much at the most: what grew for a moment, only to be copied, is in it.
"""

import argparse
import gc
import json
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np

from meteragent.config.policy import PolicySettings
from meteragent.config.presets import presets
from meteragent.privacy.policy import Policy
from meteragent.privacy.units import duration
from meteragent.stream.pipeline import Assigned, Pipeline
from meteragent.stream.readings import Readings
from simulations.fleet.scale import AT_ONCE, KEY

MOST = {"10s": 2048, "30s": 1024}
"""Bytes a meter, by interval: what is promised with an hour's grace."""
BEGIN = 1_763_424_000_000


class Held(NamedTuple):
    """Bytes a meter."""

    reported: float
    resident: float
    peak: float


def policy_of(preset: str, grace: str | None, interval: str | None) -> Policy:
    """A preset's, as it is shipped but for what is given."""
    given = {"grace": grace, "interval": interval}
    changed = {name: value for name, value in given.items() if value is not None}
    settings = {"name": "all", "preset": preset, **changed}
    return PolicySettings.model_validate(settings).policy


def blocks(policy: Policy, meters: int) -> Iterator[Readings]:
    """A pane's readings of every meter, again and again, until all that may be open is.

    Then a window is over, and the next one begins.
    """
    names = [f"meter-{i:07d}" for i in range(meters)]
    draw = np.random.default_rng(1)
    pane, offset = policy.panes, 0
    first = pane.newest(BEGIN)
    over = pane.newest(policy.windows.end(policy.windows.newest(BEGIN)))
    waits = -(-(policy.patience + policy.idle) // pane.size) + 1
    told = [*range(first, first + waits), *range(over, over + waits)]
    for number in dict.fromkeys(told):
        start = pane.start(number)
        for low in range(0, meters, AT_ONCE):
            some = names[low : low + AT_ONCE]
            size = len(some)
            yield Readings(
                meters=some,
                offsets=np.arange(offset, offset + size),
                timestamps=np.full(size, start + pane.size),
                counts=np.full(size, pane.slots),
                starts=np.full(size, start),
                intervals=np.full(size, pane.interval),
                watts=draw.integers(0, 3000, size * pane.slots).astype(np.float64),
                rejects=[],
                next_offset=offset + size,
            )
            offset += size


def held(preset: str, grace: str | None, interval: str | None, meters: int) -> Held:
    """Measured in this process: which should be new."""
    policy = policy_of(preset, grace, interval)
    one = Pipeline([Assigned("", "all", policy)], KEY, max_skew=10_000, max_meters=meters)
    warm = Pipeline([Assigned("", "all", policy)], KEY, max_skew=10_000, max_meters=AT_ONCE)
    for batch in blocks(policy, AT_ONCE):
        for _ in warm.feed(batch):
            pass
    del warm, batch
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # what was before is no peak of this
    before = _of_this_process("VmRSS")
    for batch in blocks(policy, meters):
        for _ in one.feed(batch):
            pass
    [holding] = one.holdings()
    gc.collect()
    resident, peak = _of_this_process("VmRSS") - before, _of_this_process("VmHWM") - before
    return Held(holding.bytes_per_meter, resident / meters, peak / meters)


def _of_this_process(what: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(what))


def main(arguments: list[str]) -> int:
    """Print a row for each preset, grace and interval."""
    parser = argparse.ArgumentParser(prog="python -m simulations.fleet memory", description=__doc__)
    parser.add_argument("--preset", nargs="*", choices=[*presets()], default=[*presets()])
    parser.add_argument("--grace", help="in place of the preset's")
    parser.add_argument("--interval", nargs="*", default=[None], help="in place of the preset's")
    parser.add_argument("--meters", type=int, default=100_000)
    parser.add_argument("--json", type=Path, help="add the numbers to this file")
    parser.add_argument("--check", action="store_true", help="end with 1 if a target is missed")
    given = parser.parse_args(arguments)
    print(f"{'bytes a meter':<36}{'reported':>10}{'resident':>10}{'peak':>10}{'target':>10}")
    met, rows = True, []
    for preset in given.preset:
        for interval in given.interval:
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as anew:
                found = anew.submit(held, preset, given.grace, interval, given.meters).result()
            policy = policy_of(preset, given.grace, interval)
            most = MOST["10s" if policy.interval < duration("interval", "30s") else "30s"]
            met &= max(found) <= most
            name = f"{preset}, every {policy.interval / 1000:g} s, grace {policy.grace / 1000:g} s"
            numbers = "".join(f"{number:>10,.0f}" for number in found)
            print(f"{name:<36}{numbers}{most:>10,}", flush=True)
            times = {"interval_ms": policy.interval, "grace_ms": policy.grace}
            bytes_a_meter = {what: round(number) for what, number in found._asdict().items()}
            rows.append({"preset": preset, **times, "meters": given.meters, **bytes_a_meter})
    if given.json:
        known = json.loads(given.json.read_text()) if given.json.exists() else []
        given.json.write_text(json.dumps(known + rows, indent=2) + "\n")
    print("all targets met" if met else "a target is missed")
    return 0 if met or not given.check else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
