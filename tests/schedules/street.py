"""A world of groups: homes, who is in which group and when that changes, and what comes of it.

Homes are spread over partitions of the input, groups over partitions of sums. What comes of it is
said by the pipeline that has all homes at once, in one partition, and was told of all members
from the start: it shares neither partials nor restores with those who are watched.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from random import Random

from meteragent.config import Config, from_document
from meteragent.config.works import Work, works
from meteragent.formats.decoder import Decoder
from meteragent.formats.encoder import Encoder
from meteragent.formats.member_records import MemberRecords, record
from meteragent.kafka.memberships import planned
from meteragent.privacy.members import ALWAYS, FOR_EVER, MemberPlan, Membership
from meteragent.privacy.policy import Policy
from meteragent.stream.group_pipeline import GroupPipeline
from meteragent.stream.homes import Homes
from meteragent.stream.readings import Reason
from tests.given import HOUR, KEY, MINUTE
from tests.schedules.world import Expected, Job, Record, Told

INPUTS, SUMS = 3, 2
"""Partitions of the input, and of sums."""
RECORDS = 11
"""Of each partition, at most."""
STREETS = 60
START = 10**6 * HOUR
WINDOW = 2 * HOUR
"""The policies' windows begin at multiples of some part of it."""
LEAD = 2 * HOUR
LATER = 20 * MINUTE
"""From one move to the next: whoever began before it is to notice."""

_AGENT = {"commit_interval": "300ms", "max_skew": "60m", "drain_deadline": "1500ms"}
_KAFKA = {"transaction_timeout": "4s", "groups_lead": "2h"}
_GROUP = {
    "window": "30m",
    "interval": "5m",
    "grace": "30m",
    "idle": "15m",
    "maximum": "60W",
    "home_maximum": "20W",
    "step": "1W",
    "min_homes": 1,
    "epsilon": "1",
    "radius": "10W",
}
_TIERS = [{"name": "research", "epsilon": "0.5"}, {"name": "public", "epsilon": "0.1"}]
_Settings = dict[str, object]
_HOURS: _Settings = {"window": "1h", "queries": ["avg", "max"], "on_exhausted": "partial"}
_GROUPS: tuple[tuple[_Settings, ...], ...] = (
    ({"name": "halves", "share": "6", "tier": _TIERS},),
    ({"name": "hours", **_HOURS, "share": "6"},),
    ({"name": "layers", "window": "15m", "queries": ["layers(5W)"], "share": "6"},),
    (
        {"name": "quarters", "window": "15m", "share": "5"},
        {"name": "long", **_HOURS, "window": "2h", "share": "4", "output": "long"},
    ),
)
"""Those of a world; several are for the same groups."""


@dataclass(frozen=True, eq=False)
class Street:
    """Policies, members, and all records, in the order in which they are written."""

    config: Config
    told: tuple[Told, ...]
    written: tuple[Record, ...]
    punctual: bool
    unit = MINUTE
    start = START

    @property
    def updated(self) -> Config:
        """The same, as it is rolled out anew: with policies of the same promises."""
        kafka = self.config.kafka.model_copy(update={"revision": 1})
        return self.config.model_copy(update={"kafka": kafka})

    @cached_property
    def releasing(self) -> Config:
        """As those have it who decide groups."""
        return works(self.config)[Work.GROUPS]

    @cached_property
    def policies(self) -> dict[str, Policy]:
        """By their ids; all are for every group."""
        return {policy.id: policy for policy in self.releasing.policies}

    @cached_property
    def jobs(self) -> tuple[Job, ...]:
        """Those of homes, and those of groups."""
        kinds = works(self.config)
        return Job(kinds[Work.HOMES].kafka, INPUTS), Job(kinds[Work.GROUPS].kafka, SUMS)

    def topics(self) -> dict[str, int]:
        """Of either kind, and those that both have."""
        kafka, sums = self.config.kafka, self.releasing.kafka
        names = kafka.input, kafka.homes_ledger, kafka.rejected
        own = kafka.partials, kafka.groups_ledger, *sums.outputs
        once = kafka.policies, kafka.groups
        counted = {INPUTS: names, SUMS: own, 1: once}
        return {name: count for count, topics in counted.items() for name in topics}

    @property
    def end(self) -> int:
        """When every window has closed: between two that close, for who is not exact."""
        return -(-(self.written[-1].written + 2 * HOUR + WINDOW) // WINDOW) * WINDOW

    @cached_property
    def plan(self) -> MemberPlan:
        """Who is in which group, once all is told."""
        records = MemberRecords(self.config.kafka.groups_lead)
        for told in self.told:
            assert records.take(told.home.encode(), told.groups, told.written) is None
        return planned(self.config, records.members())

    @cached_property
    def expected(self) -> Expected:
        """Feed everything to one that has all homes; then let the clock run on to the end."""
        expected, encoder, decoder = Expected(), Encoder(), Decoder()
        pipeline = GroupPipeline(
            self.config.groups, KEY, self.plan.members, max_skew=self.config.agent.max_skew
        )
        steps = []
        for offset, one in enumerate(self.written):
            readings = decoder.decode([one.value], [offset], [one.written])
            steps += [*pipeline.feed(readings)]
        counts = pipeline.counted()
        assert not counts.tally.late, "whether a reading is late must not depend on the schedule"
        for step in [*steps, *pipeline.tick(self.end)]:
            expected.add(step, encoder)
        expected.rejects = [
            (self.written[one.offset].partition, self._place(one.offset), one.reason.value)
            for one in counts.rejects
            if one.reason is not Reason.NO_GROUP  # of those no document is written
        ]
        return expected

    def _place(self, nth: int) -> int:
        """Where a record stands in its partition."""
        return sum(one.partition == self.written[nth].partition for one in self.written[:nth])


@cache
def street(number: int, *, punctual: bool = True) -> Street:
    """One of `STREETS`.

    In every third nothing is written to one partition, though homes that are at home there are
    in groups; in every second, homes move. In a punctual one no reading is late, neither in its
    partition nor where all of them are in one; in the others homes fall ever further behind.
    """
    random = Random(f"street {number}")
    speaks = [p for p in range(INPUTS) if p or number % 3]
    now, events, written = START, START, list[Record]()
    left = dict.fromkeys(speaks, RECORDS)
    while left:
        partition = random.choice([*left])
        left[partition] -= 1
        left = {partition: count for partition, count in left.items() if count}
        step = random.choice([0, 1, 3, 5, 10, 10, 20]) * MINUTE
        now += step if punctual else 3 * step
        events += step
        home = _home(partition, random.randrange(3))
        time = (now if punctual else events) - random.choice((0, 0, 0, 3, 10, -20)) * MINUTE
        reading = {"meter_id": home, "ts": time, "value": random.randint(0, 20)}
        value = b"{" if random.random() < 0.05 else json.dumps(reading).encode()
        written.append(Record(partition, now, home.encode(), value))
    first = {home: random.sample(_groups(), random.choice((1, 1, 2))) for home in _homes()[1:]}
    told = [Told(START, home, record(_since_ever(home, its))) for home, its in first.items()]
    told += _moves(first, random) if number % 2 else []
    few = len(_GROUPS) if punctual else len(_GROUPS) - 1  # thrice as long, the last would take ages
    return Street(_config(number % few), tuple(told), tuple(written), punctual)


def _since_ever(home: str, groups: list[str]) -> list[Membership]:
    return [Membership(home, group) for group in groups]


def _moves(first: dict[str, list[str]], random: Random) -> Iterator[Told]:
    """Two homes move to another group, and somebody new comes."""
    for nth, home in enumerate([*random.sample([*first], 2), _homes()[0]]):
        written = START + (nth + 1) * LATER
        since = written + LEAD + random.randrange(40) * MINUTE
        its = first.get(home, [])
        past = [Membership(home, its[0], ALWAYS, since)] if its else []
        new = next(group for group in _groups() if group not in its)
        lasting = [*past, *_since_ever(home, its[1:]), Membership(home, new, since, FOR_EVER)]
        yield Told(written, home, record(lasting))


@cache
def _homes() -> list[str]:
    return [_home(partition, nth) for partition in range(INPUTS) for nth in range(3)]


@cache
def _home(partition: int, nth: int) -> str:
    """A home that is at home in this partition."""
    homes = Homes("murmur2", INPUTS)
    names = (f"h{number}" for number in range(99))
    return [name for name in names if homes.of(name) == partition][nth]


@cache
def _groups() -> list[str]:
    """Two that are decided in the first partition of sums, and one in the second."""
    sums = Homes("murmur2", SUMS)
    names = [f"g{number}" for number in range(20)]
    first, second = ([name for name in names if sums.of(name) == at] for at in (0, 1))
    return [*first[:2], second[0]]


@cache
def _config(number: int) -> Config:
    document = {
        "agent": _AGENT,
        "kafka": _KAFKA,
        "group": [{**_GROUP, **own} for own in _GROUPS[number]],
        "budget": {"radius": "10W", "amount": "40", "horizon": "4h", "groups": "38"},
    }
    return from_document(document, Path(), {})
