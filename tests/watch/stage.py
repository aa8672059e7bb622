"""An agent without Kafka: real pipelines fed with real records, their events told to a monitor."""

from __future__ import annotations

import asyncio
import json
import tomllib
from typing import TYPE_CHECKING

from aiokafka import TopicPartition

from meteragent.config import Config
from meteragent.formats.decoder import Decoder
from meteragent.formats.encoder import Encoder
from meteragent.kafka.intake import Intake
from meteragent.kafka.unpack import Unpacker
from meteragent.stream.partition import State
from meteragent.stream.pipeline import Pipeline
from meteragent.watch.events import PartitionMoved, PartitionRestored, Rebalanced, TransactionEnded
from meteragent.watch.metrics import Monitor
from meteragent.watch.watched import Clocks
from tests.batches import Stored, fetched
from tests.given import KEY

if TYPE_CHECKING:
    from collections.abc import Iterable

    from meteragent.kafka.outbox import Record

MINUTE = 60_000
BEGIN = 1_763_424_000_000  # a whole hour, and a whole day

POLICIES = """
[[policy]]
name = "household"
window = "1m"
interval = "10s"
grace = "10s"
idle = "1m"
maximum = "24kW"
queries = ["avg", { query = "p95", epsilon = "0.5" }]
epsilon = "1"
budget = "9"
horizon = "10m"

[[policy]]
name = "feeder"
match = "f-"
window = "1m"
interval = "10s"
grace = "10s"
idle = "1m"
maximum = "400kW"
step = "100W"
queries = ["avg", "max", "min"]
epsilon = "0.5"
radius = "1kW"
budget = "5"
horizon = "5m"
on_exhausted = "partial"
"""

GAS = """
[input]
unit = "l/h"

[[policy]]
name = "gas"
quantity = "flow"
window = "1m"
interval = "10s"
grace = "10s"
idle = "1m"
maximum = "6m3/h"
step = "1l/h"
epsilon = "1"
radius = "40l/h"
budget = "9"
horizon = "10m"
"""


def config(text: str = POLICIES) -> Config:
    return Config.model_validate(tomllib.loads(text))


class Stage:
    """What a monitor may watch."""

    def __init__(self, settings: Config, partitions: int = 1) -> None:
        self.settings = settings
        self.now = BEGIN / 1000
        self.monitor = Monitor(settings, wall=lambda: self.now)
        self.ready = True
        self.alive = True
        self.stood_still = 0.25
        self.fingerprint = KEY.fingerprint
        self.clocks = Clocks()
        self.behind = dict.fromkeys(range(partitions), 0)
        self.published: list[Record] = []
        """What was committed, in its order."""
        self._intakes: dict[int, Intake] = {}
        self._offsets: dict[int, int] = dict.fromkeys(range(partitions), 0)
        self.monitor.watch(self)
        self.monitor.tell(Rebalanced(tuple(range(partitions))))
        for partition in range(partitions):
            self.start(partition)

    def start(self, partition: int) -> None:
        """From nothing to running, as a worker does it."""
        tell = self.monitor.tell
        for state in (State.FENCING, State.RESTORING):
            tell(PartitionMoved(partition, state))
        assigned = self.settings.assigned
        pipeline = Pipeline(assigned, KEY, max_skew=10 * MINUTE, max_meters=10_000_000)
        source = TopicPartition("in", partition)
        self._intakes[partition] = Intake(
            source, pipeline, Unpacker(Decoder()), Encoder(), self.settings.outputs, tell
        )
        tell(PartitionRestored(partition, 0, 0.5, 0))
        tell(PartitionMoved(partition, State.RUNNING))

    def pipelines(self) -> dict[int, Pipeline]:
        return {partition: intake.pipeline for partition, intake in self._intakes.items()}

    def awaited(self) -> dict[int, float]:
        return {}

    def blocked(self) -> dict[int, tuple[int, float]]:
        return {}

    def lags(self) -> dict[int, int]:
        return self.behind

    def read(self, partition: int, values: Iterable[bytes]) -> None:
        """Records come in."""
        records = []
        for value in values:
            records.append(Stored(value, self._offsets[partition], int(self.now * 1000)))
            self._offsets[partition] += 1
        asyncio.run(self._intakes[partition].take(fetched(records)))

    def commit(self, partition: int, seconds: float = 0.02) -> int:
        """What was decided is committed; answers with how many windows that were."""
        self.monitor.tell(PartitionMoved(partition, State.COMMITTING))
        outbox, _ = asyncio.run(self._intakes[partition].empty())
        self.published += [record for its in outbox.releases.values() for record in its]
        self.monitor.tell(TransactionEnded(partition, outbox.released, seconds))
        self.monitor.tell(PartitionMoved(partition, State.RUNNING))
        return outbox.released

    def value(self, name: str, **labels: str) -> float | None:
        """A sample as it is exported."""
        return self.monitor.series.registry.get_sample_value(f"meteragent_{name}", labels)


def reading(meter: str, time: int, watts: float) -> bytes:
    return json.dumps({"meter_id": meter, "ts": time, "value": watts}).encode()


def block(meter: str, minute: int, watts: Iterable[float | None]) -> bytes:
    """One minute of readings."""
    start = BEGIN + minute * MINUTE
    document = {
        "meter_id": meter,
        "start": start,
        "interval_ms": 10_000,
        "values": list(watts),
    }
    return json.dumps(document).encode()
