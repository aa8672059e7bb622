"""How fast files are sanitized, beside reading and decoding them in Python and doing nothing else.

    python -m simulations.peers.files             print the table, in about a minute
    python -m simulations.peers.files --check     end with 1 if a target is missed
    python -m simulations.peers.files --quick     small sizes: does it run?
    python -m simulations.peers.files --profile   where the time goes, per kind of file
    python -m simulations.peers.files --engines   DuckDB and Polars beside them (the group `peers`)

Both are run one after the other in every round, so that whatever else the machine does meets
both; the share is the median of the rounds' shares. Times are of the processor, for there is
one thread; the clock's are printed too. Sanitizing includes the ledger and the output on disk.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from unittest.mock import patch

from meteragent.config import Config, from_document
from meteragent.files.job import Job
from meteragent.files.ledger import SqliteLedger
from meteragent.files.paths import Paths
from meteragent.files.sink import File
from meteragent.files.source import Source
from meteragent.formats.encoder import Encoder
from meteragent.formats.lines import decoder_of
from meteragent.formats.mapping import Mapping
from meteragent.privacy import native
from meteragent.privacy.entropy import KEY_BYTES, NoiseKey
from simulations.peers import engines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LEAST_SHARE = 0.5
BEGIN = 1_763_424_000_000
INTERVAL, SLOTS = 10_000, 90
METERS = 1000
POLICY = {
    "name": "home",
    "window": "15m",
    "interval": "10s",
    "maximum": "24kW",
    "queries": ["avg", "p95"],
    "epsilon": "1",
    "budget": "192",
}
MAPPING = Mapping(time_format="unix_ms")


@dataclass(frozen=True)
class Kind:
    """A kind of file: so many readings, as text."""

    name: str
    readings: int
    lines: Callable[[int], Iterator[str]]
    file: str = "in.jsonl"
    is_plain: bool = True
    """Whether it is a table for others."""


def _value(number: int) -> float:
    return number * 7919 % 30_000 / 10


def _turns(readings: int) -> Iterator[tuple[int, int, float]]:
    """(meter, time, watts) of a fleet, by time."""
    for number in range(readings):
        step, meter = divmod(number, METERS)
        yield meter, BEGIN + step * INTERVAL + meter % 1000, _value(number)


def _blocks(readings: int) -> Iterator[str]:
    for number in range(readings // SLOTS):
        step, meter = divmod(number, METERS)
        values = ",".join(str(_value(number + slot)) for slot in range(SLOTS))
        start = BEGIN + step * SLOTS * INTERVAL
        yield (
            f'{{"meter_id":"home-{meter}","start":{start},"interval_ms":{INTERVAL},'
            f'"values":[{values}]}}\n'
        )


def _readings(readings: int) -> Iterator[str]:
    for meter, at, watts in _turns(readings):
        yield f'{{"meter_id":"home-{meter}","ts":{at},"value":{watts}}}\n'


def _table(readings: int) -> Iterator[str]:
    yield "meter_id,ts,value\n"
    for meter, at, watts in _turns(readings):
        yield f"home-{meter},{at},{watts}\n"


def kinds(*, quick: bool) -> list[Kind]:
    """What is measured: some seconds of work, or a moment."""
    part = 40 if quick else 1
    return [
        Kind("JSON blocks of 90", 7_200_000 // part, _blocks, is_plain=False),
        Kind("JSON readings", 1_000_000 // part, _readings),
        Kind("CSV", 1_000_000 // part, _table, "in.csv"),
    ]


def decode_only(path: Path) -> int:
    """Read and decode in Python, and do nothing else; answer how many readings there were."""
    with closing(Source(str(path))) as source, patch.object(native, "wheel", None):
        decoder, readings = None, 0
        for block in source.blocks():
            if decoder is None:
                decoder = decoder_of(source.shown, block.text, MAPPING)
            block = block.since(decoder.header_lines)  # noqa: PLW2901 - without the header
            readings += len(decoder.decode(block.text, block.first).watts)
        return readings


def sanitize(path: Path, config: Config) -> int:
    """All of it, from an empty ledger; answer how many readings there were."""
    with TemporaryDirectory(dir=path.parent) as made:
        directory = Path(made)
        with (
            closing(Source(str(path))) as source,
            closing(SqliteLedger(str(directory / "spend.db"))) as ledger,
            closing(File(directory / "out.jsonl", None)) as out,
        ):
            places = Paths(source, out, None, ledger)
            job = Job(places, config, NoiseKey(bytes(KEY_BYTES)), MAPPING, Encoder())
            job.run()
            return job.totals.readings


@dataclass(frozen=True)
class Measured:
    """Seconds of the processor, and of the clock, for each of the two."""

    decoding: tuple[float, float]
    sanitizing: tuple[float, float]

    @property
    def share(self) -> float:
        """The rate of sanitizing, as a share of that of decoding."""
        return self.decoding[0] / self.sanitizing[0]


def _timed(run: Callable[[], int], expected: int) -> tuple[float, float]:
    processor, clock = time.process_time(), time.perf_counter()
    readings = run()
    took = time.process_time() - processor, time.perf_counter() - clock
    if readings != expected:
        raise ValueError(f"{readings} readings instead of {expected}")
    return took


def measure(path: Path, kind: Kind, config: Config, rounds: int) -> list[Measured]:
    """One file, in rounds."""
    return [
        Measured(
            _timed(lambda: decode_only(path), kind.readings),
            _timed(lambda: sanitize(path, config), kind.readings),
        )
        for _ in range(rounds)
    ]


def _beside_engines(path: Path, kind: Kind, rounds: int) -> bool:
    """Print rows of other engines; answer whether a goal was missed."""
    config = from_document({"policy": [dict(POLICY, queries=["avg"])]}, Path(), {})

    def ours() -> engines.Took:
        return _timed(lambda: sanitize(path, config), kind.readings)

    shares = engines.beside(path, kind.readings, ours, rounds)
    return any(shares[name] < asked for name, asked in engines.ASKED.items())


def _print_row(kind: Kind, megabytes: float, rounds: list[Measured]) -> float:
    share = median(one.share for one in rounds)
    rates = [
        kind.readings / median(getattr(one, part)[which] for one in rounds) / 1e6
        for which in (0, 1)
        for part in ("decoding", "sanitizing")
    ]
    columns = "".join(f"{rate:>11.2f}" for rate in rates)
    print(f"{kind.name:<18}{megabytes:>6.0f}{columns}{share:>9.0%}", flush=True)
    return share


def main(arguments: list[str] | None = None) -> int:
    """Print the table; with --check, judge it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--check", action="store_true", help="end with 1 if a target is missed")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--profile", action="store_true", help="where the time goes")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="at least 3")
    parser.add_argument("--engines", action="store_true", help="DuckDB and Polars beside them")
    given = parser.parse_args(arguments)
    if given.engines and (
        lacking := [name for name in engines.ENGINES.values() if not find_spec(name)]
    ):
        sys.exit(
            f"{lacking[0]} is missing; install the group `peers`: uv pip install --group peers"
        )
    config = from_document({"policy": [dict(POLICY)]}, Path(), {})
    shares, behind = [], False
    print(f"sanitized by {native.way()}")
    print("million readings/s   MB  decode cpu   sanitize cpu  decode clock  sanitize    share")
    with TemporaryDirectory() as made:
        for kind in kinds(quick=given.quick):
            path = Path(made) / kind.file
            with path.open("w") as file:
                file.writelines(kind.lines(kind.readings))
            megabytes = path.stat().st_size / 1e6
            rounds = measure(path, kind, config, max(3, given.rounds))
            shares.append(_print_row(kind, megabytes, rounds))
            if given.engines and kind.is_plain:
                behind |= _beside_engines(path, kind, max(3, given.rounds))
            if given.profile:
                profile = cProfile.Profile()
                profile.runcall(sanitize, path, config)
                pstats.Stats(profile).sort_stats("tottime").print_stats(18)
    missed = min(shares) < LEAST_SHARE
    print(
        f"target: at least {LEAST_SHARE:.0%} of decoding in Python: {'missed' if missed else 'met'}"
    )
    if given.engines:
        print(f"goal: half of DuckDB, by the processor: {'missed' if behind else 'met'}")
    return int(given.check and missed)


if __name__ == "__main__":
    sys.exit(main())
