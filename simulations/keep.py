"""Keep what a benchmark prints, so that what a page says of it can be held against it.

    python -m simulations.fleet stages | python -m simulations.keep fleet stages

Shows every line as it comes; at the end `deploy/performance.json` has them, under the command, with
the machine and its load. A test holds the numbers of deploy/performance.md and deploy/operations.md
against these.
"""

import json
import os
import platform
import sys
from pathlib import Path

KEPT = Path(__file__).parents[1] / "deploy" / "performance.json"


def main(words: list[str]) -> int:
    """Keep one command's lines, in place of those of its last run."""
    if not words:
        sys.stderr.write(f"{__doc__}\n")
        return 2
    before, printed = os.getloadavg(), []
    for line in sys.stdin:
        sys.stdout.write(line)
        sys.stdout.flush()
        printed.append(line.rstrip())
    if not any(printed):
        sys.stderr.write("nothing was printed, so nothing is kept\n")
        return 1
    kept = json.loads(KEPT.read_text("utf-8")) if KEPT.exists() else {}
    kept[f"python -m simulations.{' '.join(words)}"] = {
        "machine": f"{_processor()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "load": [round(load, 1) for load in (before[0], os.getloadavg()[0])],
        "printed": printed,
    }
    KEPT.write_text(json.dumps(dict(sorted(kept.items())), indent=1, ensure_ascii=False) + "\n")
    return 0


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
