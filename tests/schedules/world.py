"""What is true whatever the schedule: the records, and what an undisturbed run makes of them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from random import Random
from typing import NamedTuple, Protocol

from meteragent.config import Config, from_document
from meteragent.config.kafka import Kafka
from meteragent.formats.decoder import Decoder
from meteragent.formats.encoder import Encoder
from meteragent.privacy.policy import Policy
from meteragent.stream.homes import Homes
from meteragent.stream.pipeline import Pipeline
from meteragent.stream.releases import Step
from tests.given import KEY, SECOND

PARTITIONS = 2
RECORDS = 10
"""Of each partition."""
WORLDS = 60
START = 10**6
HOP = 10 * SECOND
"""The policies' windows begin at multiples of it, and close 15 s after they end."""

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
_Settings = dict[str, object]
_SHARED: _Settings = {"share": "3", "budget": None, "horizon": None}
_TIERS = [{"name": "research", "epsilon": "0.5"}, {"name": "public", "epsilon": "0.1"}]
_POLICIES: tuple[tuple[_Settings, ...], ...] = (
    ({},),
    ({"hop": "10s", "budget": "4"},),
    ({"presence": "private"},),
    ({"queries": ["avg", "max"], "on_exhausted": "partial", "tier": _TIERS},),
    (_SHARED, {**_SHARED, "name": "other", "window": "40s", "queries": ["max"], "output": "other"}),
)
"""Those of a world; several have a `[budget]` in common."""

Window = tuple[str, str, int]
"""(policy id, meter, start)"""
Rejected = tuple[int, int, str]
"""(partition, offset, reason)"""


@dataclass(frozen=True)
class Record:
    """A message; the meters' time at which it is written is its timestamp."""

    partition: int
    written: int
    meter: bytes
    value: bytes


@dataclass
class Expected:
    """What an undisturbed pipeline makes of a world."""

    releases: dict[Window, bytes] = field(default_factory=dict)
    rejects: list[Rejected] = field(default_factory=list)

    def add(self, step: Step, encoder: Encoder) -> None:
        """What is released by a step."""
        for decided in (step.releases, *step.releases.tiers):
            policy = decided.policy.id
            told = zip(decided.meters, decided.starts.tolist(), strict=True)
            windows = [(policy, meter, start) for meter, start in told]
            self.releases |= zip(windows, encoder.encode(decided), strict=True)


class Job(NamedTuple):
    """A kind of work as Kafka knows it: a consumer group, its input, and a ledger."""

    kafka: Kafka
    partitions: int


class Told(NamedTuple):
    """A record of the members' topic: all groups of a home."""

    written: int
    home: str
    groups: bytes


class AnyWorld(Protocol):
    """What schedules are made of."""

    @property
    def written(self) -> tuple[Record, ...]:
        """What meters write."""

    @property
    def told(self) -> tuple[Told, ...]:
        """Who is in which group, as it is told."""

    @property
    def punctual(self) -> bool:
        """Whether it does not depend on the schedule what is late."""

    @property
    def config(self) -> Config:
        """As every instance has it."""

    @property
    def updated(self) -> Config:
        """The same, as it is rolled out anew: with policies of the same promises."""

    @property
    def releasing(self) -> Config:
        """As those have it who release."""

    @property
    def policies(self) -> Mapping[str, Policy]:
        """By their ids; all are for every meter, or group."""

    @property
    def jobs(self) -> tuple[Job, ...]:
        """What there is to be done; the last of them releases."""

    @property
    def unit(self) -> int:
        """Milliseconds of the meters in what the worlds of meters have for a second."""

    @property
    def start(self) -> int:
        """When meters begin."""

    @property
    def end(self) -> int:
        """When every window has closed."""

    @property
    def expected(self) -> Expected:
        """What comes of it, if nothing goes wrong."""

    def topics(self) -> dict[str, int]:
        """How many partitions each has."""


@dataclass(frozen=True, eq=False)
class World:
    """Policies and all records, in the order in which they are written."""

    config: Config
    written: tuple[Record, ...]
    punctual: bool
    told: tuple[Told, ...] = ()
    unit = SECOND
    start = START

    @property
    def jobs(self) -> tuple[Job, ...]:
        """Releases of meters alone."""
        return (Job(self.config.kafka, PARTITIONS),)

    @property
    def releasing(self) -> Config:
        """There is but one configuration."""
        return self.config

    def topics(self) -> dict[str, int]:
        """All but the policies' have as many as the input."""
        kafka = self.config.kafka
        names = (kafka.input, *kafka.outputs, kafka.ledger, kafka.rejected)
        return {**dict.fromkeys(names, PARTITIONS), kafka.policies: 1}

    @cached_property
    def policies(self) -> dict[str, Policy]:
        """By their ids; all are for every meter."""
        return {policy.id: policy for policy in self.config.policies}

    @cached_property
    def updated(self) -> Config:
        """The same, as it is rolled out anew: with policies of the same promises."""
        kafka = self.config.kafka.model_copy(update={"revision": 1})
        return self.config.model_copy(update={"kafka": kafka})

    @property
    def end(self) -> int:
        """When every window has closed: midway between two that close, for who is not exact."""
        longest = max(policy.size for policy in self.config.policies)
        return -(-(self.written[-1].written + 40 * SECOND + longest) // HOP) * HOP

    def log(self, partition: int) -> list[Record]:
        """The records of a partition."""
        return [record for record in self.written if record.partition == partition]

    def pipeline(self) -> Pipeline:
        """A pipeline from which nothing was hidden."""
        agent = self.config.agent
        return Pipeline(
            self.config.assigned,
            KEY,
            max_skew=agent.max_skew,
            max_meters=agent.max_meters,
        )

    @cached_property
    def expected(self) -> Expected:
        """Feed everything, a record at a time; then let the clock run on to the end."""
        expected, encoder, decoder = Expected(), Encoder(), Decoder()
        for partition in range(PARTITIONS):
            pipeline = self.pipeline()
            steps = []
            for offset, record in enumerate(self.log(partition)):
                readings = decoder.decode([record.value], [offset], [record.written])
                steps += [*pipeline.feed(readings)]
            for step in [*steps, *pipeline.tick(self.end)]:
                expected.add(step, encoder)
            rejects = pipeline.counts.rejects
            expected.rejects += [(partition, r.offset, r.reason.value) for r in rejects]
        return expected


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
        meter = _at_home(partition, random.choice("aaabbc"))
        time = (now if punctual else events) - random.choice(delays) * SECOND
        reading = {"meter_id": meter, "ts": time, "value": random.randint(0, 20)}
        value = b"{" if random.random() < 0.05 else json.dumps(reading).encode()
        written.append(Record(partition, now, meter.encode(), value))
    return World(_config(number % len(_POLICIES)), tuple(written), punctual)


@cache
def _at_home(partition: int, name: str) -> str:
    """A meter of this partition."""
    homes = Homes("murmur2", PARTITIONS)
    names = (f"{partition}-{name}{number}" for number in range(99))
    return next(meter for meter in names if homes.of(meter) == partition)


@cache
def _config(number: int) -> Config:
    drawn = [{**_POLICY, **own} for own in _POLICIES[number]]
    policies = [{k: v for k, v in policy.items() if v is not None} for policy in drawn]
    document = {"agent": _AGENT, "kafka": _KAFKA, "policy": policies}
    if len(policies) > 1:
        document["budget"] = {"radius": "10W", "amount": "6", "horizon": "80s"}
    return from_document(document, Path(), {})
