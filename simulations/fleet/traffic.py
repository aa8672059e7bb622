"""Fleets of meters, as head-ends send them on: jittered, gappy, twice, late, in disorder, bad.

Everything is drawn from a seed, a partition at a time, so that any number of processes may
make the same fleet together. A portion is what one partition's meters send in one interval,
as columns, in the order in which it is sent.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from meteragent.stream.homes import murmur2

Integers = NDArray[np.int64]

BAD = (
    b"",
    b"\xff\xfe",
    b"{",
    b"[1, 2]",
    b'{"meter_id": "", "ts": 1, "value": 2}',
    b'{"meter_id": "x", "ts": "yesterday", "value": 2}',
    b'{"meter_id": "x", "ts": 1, "value": 1e400}',
    b'{"meter_id": "x", "ts": 1, "value": 2, "unit": "hp"}',
)
"""Messages that are none: each is rejected for its own reason."""

_KETTLE = 20_000
_TEXTS = [b"%d.%d" % divmod(deciwatts, 10) for deciwatts in range(_KETTLE + 4_000)]


@dataclass(frozen=True)
class Trouble:
    """How often things go wrong, each as a share of the records."""

    gap: float = 0.01
    """Never sent."""
    twice: float = 0.005
    late: float = 0.002
    """Minutes late, after their windows have closed."""
    bad: float = 0.0005
    """Followed by a message that is none."""
    latency: int = 300
    """The mean time on the way in milliseconds, so that records overtake one another."""


CALM = Trouble(gap=0, twice=0, late=0, bad=0)


@dataclass(frozen=True)
class Fleet:
    """So many meters, so many intervals of readings each."""

    meters: int
    steps: int
    begin: int
    """The first interval, in milliseconds since the epoch."""
    interval: int = 10_000
    block: int = 1
    """How many readings a record holds: 1 for readings, more for interval blocks."""
    partitions: int = 1
    seed: int = 1
    trouble: Trouble = Trouble()

    def name(self, meter: int) -> bytes:
        """The id of a meter."""
        return _name(meter)

    @property
    def end(self) -> int:
        """When the last interval is over."""
        return self.begin + self.steps * self.interval


@dataclass(frozen=True)
class Portion:
    """Records of one partition, in the order in which they are sent."""

    meters: Integers
    times: Integers
    """Of each record's first reading."""
    sent: Integers
    bad: NDArray[np.bool_]
    deciwatts: Integers
    """deciwatts[record, reading]"""

    def __len__(self) -> int:
        return len(self.meters)

    def where(self, chosen: NDArray[np.generic]) -> "Portion":
        """Some of them."""
        return Portion(*(column[chosen] for column in vars(self).values()))

    def records(self, fleet: Fleet) -> Iterator[tuple[bytes, bytes, int]]:
        """(key, value, timestamp) of each."""
        keys = [fleet.name(meter) for meter in self.meters.tolist()]
        values = list(_values(fleet, keys, self.times.tolist(), self.deciwatts))
        for nth in np.flatnonzero(self.bad).tolist():
            values[nth] = BAD[nth % len(BAD)]
        return zip(keys, values, self.sent.tolist(), strict=True)


def _name(meter: int) -> bytes:
    return b"meter-%07d" % meter


@lru_cache(1)
def _homes(meters: int, partitions: int) -> Integers:
    """In which partition each meter's records are, as senders choose it by their keys."""
    return np.fromiter((murmur2(_name(meter)) % partitions for meter in range(meters)), np.int64)


def portions(fleet: Fleet, partition: int) -> Iterator[Portion]:
    """What the meters of a partition send, an interval of sending at a time."""
    draw = np.random.default_rng((fleet.seed, partition))
    meters = np.flatnonzero(_homes(fleet.meters, fleet.partitions) == partition)
    phases = draw.integers(0, fleet.interval, len(meters))
    pending: list[Portion] = []
    for step in range(0, fleet.steps, fleet.block):
        first = fleet.begin + step * fleet.interval
        pending.append(_measured(fleet, draw, meters, first + phases))
        until = first + fleet.block * fleet.interval
        everything = _joined(pending)
        now = everything.sent < until
        pending = [everything.where(~now)]
        yield _in_order(everything.where(now))
    yield _in_order(_joined(pending))


def _measured(
    fleet: Fleet, draw: np.random.Generator, meters: Integers, times: Integers
) -> Portion:
    """A record of each meter that is sent, those sent twice, and the bad ones among them."""
    trouble, count = fleet.trouble, len(meters)
    span = fleet.interval * (fleet.block - 1)
    latency = draw.exponential(trouble.latency, count).astype(np.int64)
    delay = draw.integers(1, 10, count) * 60_000 * (draw.random(count) < trouble.late)
    deciwatts = _load(draw, count, fleet.block)
    whole = Portion(
        meters, times, times + span + latency + delay, np.zeros(count, dtype=np.bool_), deciwatts
    )
    whole = whole.where(draw.random(count) >= trouble.gap)
    again = whole.where(draw.random(len(whole)) < trouble.twice)
    wrong = whole.where(draw.random(len(whole)) < trouble.bad)
    return _joined(
        [
            whole,
            replace(again, sent=again.sent + 2_000),
            replace(wrong, sent=wrong.sent + 1, bad=np.ones(len(wrong), dtype=np.bool_)),
        ]
    )


def _load(draw: np.random.Generator, meters: int, readings: int) -> Integers:
    """A little always, and now and then a kettle or an oven."""
    base = draw.integers(500, 4_000, (meters, readings))
    return base + _KETTLE * (draw.random((meters, readings)) < 0.05)


def _joined(portions: list[Portion]) -> Portion:
    columns = zip(*(vars(portion).values() for portion in portions), strict=True)
    return Portion(*map(np.concatenate, columns))


def _in_order(portion: Portion) -> Portion:
    return portion.where(np.argsort(portion.sent, kind="stable"))


def _values(
    fleet: Fleet, keys: list[bytes], times: list[int], deciwatts: Integers
) -> Iterator[bytes]:
    text = _TEXTS.__getitem__
    if fleet.block == 1:
        columns = zip(keys, times, map(text, deciwatts[:, 0].tolist()), strict=True)
        return map(b'{"meter_id":"%b","ts":%d,"value":%b}'.__mod__, columns)
    form = b'{"meter_id":"%%b","start":%%d,"interval_ms":%d,"values":[%%b]}' % fleet.interval
    lists = (b",".join(map(text, row)) for row in deciwatts.tolist())
    return map(form.__mod__, zip(keys, times, lists, strict=True))
