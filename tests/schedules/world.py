"""What is true whatever the schedule: the records, and what an undisturbed run makes of them."""

from dataclasses import dataclass
from functools import cache, cached_property
from random import Random

import numpy as np

from meteragent.privacy.domain import Domain
from meteragent.privacy.entropy import NoiseKey
from meteragent.privacy.policy import Policy, per_watt, question
from meteragent.stream.pipeline import START, Assigned, Pipeline
from meteragent.stream.readings import Readings, Reason, Reject

SECOND = 1000
KEY = NoiseKey(bytes(range(32)))
MAX_SKEW = 60 * SECOND
MAX_METERS = 9
PARTITIONS = 2
RECORDS = 10
"""Of each partition."""
WORLDS = 60


def _policy(**changes: object) -> Policy:
    settings: dict[str, object] = {
        "domain": Domain(0, 20, 1),
        "questions": (question("avg", 1, 10),),
        "size": 20 * SECOND,
        "interval": 10 * SECOND,
        "hop": 20 * SECOND,
        "grace": 5 * SECOND,
        "idle": 10 * SECOND,
        "budget": per_watt("budget", 3, 10),
        "horizon": 80 * SECOND,
    }
    return Policy(**{**settings, **changes})  # type: ignore[arg-type]


POLICIES = (
    _policy(),
    _policy(hop=10 * SECOND, budget=per_watt("budget", 4, 10)),
    _policy(presence="private"),
)


@dataclass(frozen=True)
class Record:
    """One reading; a bad record holds none."""

    written: int
    meter: str
    time: int
    watts: float
    bad: bool


@dataclass(frozen=True, eq=False)
class World:
    """A policy and the records of every partition, in the order in which they are written."""

    policy: Policy
    written: tuple[tuple[int, Record], ...]
    """(partition, record)"""

    @cached_property
    def assigned(self) -> tuple[Assigned, ...]:
        return (Assigned("", self.policy),)

    @cached_property
    def logs(self) -> tuple[tuple[Record, ...], ...]:
        return tuple(
            tuple(record for where, record in self.written if where == partition)
            for partition in range(PARTITIONS)
        )

    @property
    def end(self) -> int:
        """When every window has closed."""
        return self.written[-1][1].written + 100 * SECOND

    def readings(self, partition: int, records: range) -> Readings:
        """Some records of a partition, decoded."""
        log = self.logs[partition]
        good = [i for i in records if not log[i].bad]
        return Readings(
            meters=[log[i].meter for i in good],
            offsets=np.array(good, dtype=np.int64),
            timestamps=np.array([log[i].written for i in good], dtype=np.int64),
            counts=np.ones(len(good), dtype=np.int64),
            starts=np.array([log[i].time for i in good], dtype=np.int64),
            intervals=np.ones(len(good), dtype=np.int64),
            watts=np.array([log[i].watts for i in good], dtype=np.float64),
            rejects=[Reject(i, Reason.NOT_JSON) for i in records if log[i].bad],
            next_offset=records.stop,
        )

    def pipeline(self) -> Pipeline:
        """A pipeline from which nothing was hidden."""
        return Pipeline(self.assigned, KEY, max_skew=MAX_SKEW, max_meters=MAX_METERS, start=START)


@cache
def world(number: int, *, punctual: bool = True) -> World:
    """One of `WORLDS` worlds.

    In a punctual one no reading is later than `idle` by the wall clock: so it does not depend
    on the schedule whether it is late, and every schedule must come to the same releases.
    """
    random = Random(f"world {number}")
    delays = (0, 0, 0, 3, 10, -20, -100)
    policy = POLICIES[number % len(POLICIES)]
    now, events, written, left = 10**6, 10**6, [], [RECORDS] * PARTITIONS
    while any(left):
        partition = random.choice([p for p in range(PARTITIONS) if left[p]])
        left[partition] -= 1
        step = random.choice([0, 1, 3, 5, 10, 10, 40]) * SECOND
        now += step if punctual else 3 * step
        events += step
        record = Record(
            written=now,
            meter=f"{partition}-{random.choice('aaabbc')}",
            time=(now if punctual else events) - random.choice(delays) * SECOND,
            watts=float(random.randint(0, 20)),
            bad=random.random() < 0.05,
        )
        written.append((partition, record))
    return World(policy, tuple(written))
