"""How much memory `sanitize` takes for an input without end: `python -m simulations.peers.endless`.

Pipes generated interval blocks into `meteragent sanitize -`, and says at every tenth of the
way how much memory the process holds. It fails if that still grows over the second half.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

METERS, READINGS, INTERVAL = 500, 90, 10_000
BEGIN = 1_704_067_200_000
SETTINGS = ("--window", "15m", "--interval", "10s", "--maximum", "24kW", "--epsilon", "1")
ALLOWED_GROWTH = 1.05
PARTS = 10


def blocks(seed: int) -> Iterator[bytes]:
    """A quarter of an hour of all meters at a time."""
    draw = random.Random(seed)
    ready = [",".join(str(draw.randrange(9999)) for _ in range(READINGS)) for _ in range(97)]
    begin = BEGIN
    while True:
        yield "".join(
            f'{{"meter_id":"m-{meter}","start":{begin},"interval_ms":{INTERVAL},'
            f'"values":[{draw.choice(ready)}]}}\n'
            for meter in range(METERS)
        ).encode()
        begin += READINGS * INTERVAL


def held(pid: int) -> int:
    """The memory of a process now, in KiB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


def measure(gigabytes: float, seed: int) -> list[int]:
    """KiB held after each tenth of the input."""
    found: list[int] = []
    with tempfile.TemporaryDirectory(prefix="meteragent-endless-") as directory:
        key = Path(directory) / "noise.key"
        program = (sys.executable, "-m", "meteragent")
        subprocess.run([*program, "key", "create", key], check=True, stdout=subprocess.DEVNULL)  # noqa: S603
        files = ("--key-file", key, "--ledger", Path(directory) / "spend.db")
        command = (*program, "sanitize", "-", *SETTINGS, "--budget", "96", *files)
        with subprocess.Popen(  # noqa: S603
            [*map(str, command)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
        ) as job:
            assert job.stdin is not None  # noqa: S101
            sent, begun, total = 0, time.monotonic(), gigabytes * 1e9
            for block in blocks(seed):
                job.stdin.write(block)
                sent += len(block)
                if sent >= total * (len(found) + 1) / PARTS:
                    found.append(held(job.pid))
                    rate = sent / 1e6 / (time.monotonic() - begun)
                    print(f"{sent / 1e9:7.3f} GB  {found[-1] / 1024:7.1f} MiB  {rate:6.1f} MB/s")
                    sys.stdout.flush()
                if len(found) == PARTS:
                    break
            job.stdin.close()
            if job.wait():
                raise SystemExit("sanitize failed")
    return found


def main() -> int:
    """Print what was measured; 1 if memory grows with the input."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--gigabytes", type=float, default=1.0, metavar="N", help="default: 1")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="default: 1")
    given = parser.parse_args()
    found = measure(given.gigabytes, given.seed)
    grown = max(found[PARTS // 2 :]) / max(found[: PARTS // 2])
    print(f"second half against first: {grown:.3f} (flat: at most {ALLOWED_GROWTH})")
    return int(grown > ALLOWED_GROWTH)


if __name__ == "__main__":
    os.nice(5)
    sys.exit(main())
