"""Groups without Kafka: what partitions of the input tell is fed to a real pipeline and monitor."""

from __future__ import annotations

import asyncio
import tomllib
from typing import TYPE_CHECKING

import numpy as np
from aiokafka import TopicPartition

from meteragent.config import Config
from meteragent.config.works import Work, works
from meteragent.formats.encoder import Encoder
from meteragent.kafka.intake import Intake
from meteragent.kafka.work import GroupWork, PartialUnpacker, rosters
from meteragent.privacy.entropy import tag
from meteragent.privacy.members import Membership
from meteragent.stream.homes import Homes
from meteragent.stream.partial import Partial, way_of
from meteragent.stream.partition import State
from meteragent.watch.events import MembersRead, PartitionMoved, PartitionRestored, TransactionEnded
from meteragent.watch.metrics import Monitor
from meteragent.watch.status import Status
from meteragent.watch.watched import Clocks
from tests.batches import Stored, fetched
from tests.given import KEY
from tests.watch.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from meteragent.stream.pipeline import Pipeline

QUARTER = 900_000
BEGIN = 1_763_424_000_000
SETTINGS = """
[budget]
amount = "10"
groups = "6"
horizon = "1h"
[[policy]]
name = "household"
window = "15m"
interval = "5m"
grace = "0s"
idle = "0s"
maximum = "24kW"
epsilon = "0.5"
share = "4"
[[group]]
name = "feeders"
match = "f-"
window = "15m"
interval = "5m"
grace = "0s"
idle = "0s"
maximum = "100kW"
home_maximum = "24kW"
min_homes = 2
epsilon = "1"
share = "3"
"""
MEMBERS = [
    *(Membership(f"m-{n}", f"f-{n % 3}") for n in range(9)),
    Membership("m-0", "f-alone"),
]


def settings(text: str = SETTINGS) -> Config:
    return Config.model_validate(tomllib.loads(text))


class Street:
    """One partition of groups, whose homes are in two partitions of the input."""

    def __init__(self, config: Config, members: Sequence[Membership] = MEMBERS) -> None:
        self.config = works(config)[Work.GROUPS]
        self.now = BEGIN / 1000
        self.monitor = Monitor(self.config, wall=lambda: self.now)
        self._rosters = rosters(config, members, Homes("fnv1a", 2), Homes("murmur2", 1))
        self.work = GroupWork(config, KEY, self._rosters)
        self.members = members
        self.ready = self.alive = True
        self.stopping = False
        self.stood_still = 0.0
        self.fingerprint = KEY.fingerprint
        self.clocks = Clocks()
        self._offset = 0
        self.monitor.watch(self)
        self.start()

    def start(self) -> None:
        """From nothing to running, without any account."""
        from meteragent.stream.position import START  # noqa: PLC0415 - as it is with a worker

        tell = self.monitor.tell
        tell(MembersRead(len(self.members), 0, 0, 0, 0))
        for state in (State.FENCING, State.RESTORING):
            tell(PartitionMoved(0, state))
        pipeline = self.work.pipeline(0, START)
        self._intake = Intake(
            TopicPartition("partials", 0),
            pipeline,  # type: ignore[arg-type]
            PartialUnpacker(),
            Encoder(),
            self.config.outputs,
            tell,
        )
        tell(PartitionRestored(0, 0, 0.5, 0))
        tell(PartitionMoved(0, State.RUNNING))

    def tell(self, source: int, quarter: int, watts: Mapping[str, int]) -> None:
        """A partition of the input tells of a pane: group -> how far its homes are from 0 W."""
        [assigned] = self.config.groups
        start = BEGIN + quarter * QUARTER
        partial = Partial(
            way_of(assigned),
            self._rosters["f-"].digest(start),
            start // QUARTER,
            source,
            b"".join(map(tag, watts)),
            np.array([*watts.values()], dtype=np.int64).reshape(-1, 1) // 10,
        )
        self.now = max(self.now, (start + QUARTER) / 1000)
        record = Stored(partial.dump(), self._offset, int(self.now * 1000))
        self._offset += 1
        asyncio.run(self._intake.take(fetched([record])))
        outbox, _ = asyncio.run(self._intake.empty())
        self.monitor.tell(TransactionEnded(0, outbox.released, 0.02))

    # What is asked of an agent.

    def pipelines(self) -> dict[int, Pipeline]:
        return {0: self._intake.pipeline}

    def awaited(self) -> dict[int, float]:
        return {}

    def blocked(self) -> dict[int, tuple[int, float]]:
        return {}

    def lags(self) -> dict[int, int]:
        return {0: 0}

    def value(self, name: str, **labels: str) -> float | None:
        """A sample as it is exported."""
        return self.monitor.series.registry.get_sample_value(f"meteragent_{name}", labels)


def beside(street: Street, stage: Stage, config: Config) -> Status:
    """The page of an agent that releases meters and groups."""
    of_homes = Monitor(works(config)[Work.HOMES])
    others = {"homes": of_homes, "groups": street.monitor}
    return Status(config, stage.monitor, stage, wall=lambda: street.now, works=others)


def scraped(accept: str = "") -> str:
    """What `/metrics` shows of an agent of meters and of groups, with something in every part."""
    street, stage, _ = busy()
    of_homes = Monitor(works(settings())[Work.HOMES])
    of_homes.tell(MembersRead(12, 1, 2, 0, 1))
    others = {"homes": of_homes.series, "groups": street.monitor.series}
    return stage.monitor.series.expose(accept, others)[0].decode()


def busy() -> tuple[Street, Stage, Status]:
    """A street with something in every part of the page."""
    config = settings()
    street, stage = Street(config), Stage(config)
    street.monitor.tell(MembersRead(12, 1, 2, 0, 1))
    for quarter in range(6):
        street.tell(0, quarter, {"f-0": 1200, "f-1": 700})
        if quarter < 4:
            street.tell(1, quarter, {"f-2": 300, "f-alone": 90})
    street.tell(1, 1, {})  # again, and late
    return street, stage, beside(street, stage, config)
