"""What is true whatever the schedule: the records, and what an undisturbed run makes of them."""

import json
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from random import Random

from meteragent.config import Config, from_document
from meteragent.formats.decoder import Decoder
from meteragent.formats.encoder import Encoder
from meteragent.privacy.entropy import NoiseKey
from meteragent.privacy.policy import Policy
from meteragent.stream.pipeline import Assigned, Pipeline

SECOND = 1000
KEY = NoiseKey(bytes(range(32)))
PARTITIONS = 2
RECORDS = 10
"""Of each partition."""
WORLDS = 60
START = 10**6

_AGENT = {
    "commit_interval": "300ms",
    "max_skew": "60s",
    "drain_deadline": "1500ms",
    "max_meters": 9,
}
_KAFKA = {"transaction_timeout": "4s"}
_POLICY = {
    "name": "all",
    "window": "20s",
    "interval": "10s",
    "grace": "5s",
    "idle": "10s",
    "minimum": "0W",
    "maximum": "20W",
    "step": "1W",
    "epsilon": "1",
    "radius": "10W",
    "budget": "3",
    "horizon": "80s",
    "min_coverage": "0",
}
_POLICIES: tuple[dict[str, object], ...] = (
    {},
    {"hop": "10s", "budget": "4"},
    {"presence": "private"},
    {"queries": ["avg", "max"], "on_exhausted": "partial"},
)

Window = tuple[str, int]
"""(meter, start)"""


@dataclass(frozen=True)
class Record:
    """A message; the meters' time at which it is written is its timestamp."""

    partition: int
    written: int
    meter: bytes
    value: bytes


@dataclass(frozen=True, eq=False)
class World:
    """A policy and all records, in the order in which they are written."""

    config: Config
    written: tuple[Record, ...]
    punctual: bool

    @cached_property
    def policy(self) -> Policy:
        """The only one."""
        (policy,) = self.config.policies.values()
        return policy

    @property
    def end(self) -> int:
        """When every window has closed."""
        return self.written[-1].written + 60 * SECOND

    def log(self, partition: int) -> list[Record]:
        """The records of a partition."""
        return [record for record in self.written if record.partition == partition]

    def pipeline(self) -> Pipeline:
        """A pipeline from which nothing was hidden."""
        agent = self.config.agent
        return Pipeline(
            [Assigned("", self.policy)],
            KEY,
            max_skew=agent.max_skew,
            max_meters=agent.max_meters,
        )


@cache
def world(number: int, *, punctual: bool = True) -> World:
    """One of `WORLDS` worlds.

    In a punctual one no reading is later than `idle` by the wall clock: so it does not depend
    on the schedule whether it is late, and every schedule must come to the same releases. In
    the others meters fall ever further behind, and the wall clock closes windows before them.
    """
    random = Random(f"world {number}")
    delays = (0, 0, 0, 3, 10, -20, -100)
    now, events, written, left = START, START, [], [RECORDS] * PARTITIONS
    while any(left):
        partition = random.choice([p for p in range(PARTITIONS) if left[p]])
        left[partition] -= 1
        step = random.choice([0, 1, 3, 5, 10, 10, 40]) * SECOND
        now += step if punctual else 3 * step
        events += step
        meter = f"{partition}-{random.choice('aaabbc')}"
        time = (now if punctual else events) - random.choice(delays) * SECOND
        reading = {"meter_id": meter, "ts": time, "value": random.randint(0, 20)}
        value = b"{" if random.random() < 0.05 else json.dumps(reading).encode()
        written.append(Record(partition, now, meter.encode(), value))
    return World(_config(number % len(_POLICIES)), tuple(written), punctual)


@cache
def _config(number: int) -> Config:
    policy = {**_POLICY, **_POLICIES[number]}
    return from_document({"agent": _AGENT, "kafka": _KAFKA, "policy": [policy]}, Path(), {})


@dataclass
class Expected:
    """What an undisturbed pipeline makes of a world."""

    releases: dict[Window, bytes] = field(default_factory=dict)
    rejects: list[tuple[int, int, str]] = field(default_factory=list)
    """(partition, offset, reason)"""


@cache
def expected(world: World) -> Expected:
    """Feed everything, a record at a time; then let the clock run on to the end."""
    expected, encoder, decoder = Expected(), Encoder(), Decoder()
    for partition in range(PARTITIONS):
        pipeline = world.pipeline()
        steps = []
        for offset, record in enumerate(world.log(partition)):
            readings = decoder.decode([record.value], [offset], [record.written])
            steps += [*pipeline.feed(readings)]
        for step in [*steps, *pipeline.tick(world.end)]:
            decided = step.releases
            windows = zip(decided.meters, decided.starts.tolist(), strict=True)
            expected.releases |= zip(windows, encoder.encode(decided), strict=True)
        rejects = pipeline.counts.rejects
        expected.rejects += [(partition, r.offset, r.reason.value) for r in rejects]
    return expected
