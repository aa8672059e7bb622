"""How many processors this process may use: those that it may run on, within its quota."""

import math
import os
from collections.abc import Iterator
from pathlib import Path

GROUPS = Path("/sys/fs/cgroup")
OURS = Path("/proc/self/cgroup")


def usable(groups: Path = GROUPS, ours: Path = OURS) -> int:
    """At least one; a share of one counts as one."""
    affinity = len(os.sched_getaffinity(0))
    return max(1, min([affinity, *map(math.ceil, _quotas(groups, ours))]))


def _quotas(groups: Path, ours: Path) -> Iterator[float]:
    """Of the control group that we are in, and of those around it."""
    try:
        named = next(line[3:].strip("/\n") for line in ours.open() if line.startswith("0::"))
    except (OSError, StopIteration):
        return
    inside = groups / named
    for group in (inside, *inside.parents):
        try:
            quota, period = (group / "cpu.max").read_text().split()
        except (OSError, ValueError):
            continue
        if quota.isdecimal() and period.isdecimal() and int(period):
            yield int(quota) / int(period)
        if group == groups:
            return
