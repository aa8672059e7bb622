"""Whether a contender does the work: each mean that it has told, beside that of what was sent.

The means are worked out from the fleet itself, by no stream processor. Who is faster because it
leaves readings out, or answers of windows that are not over, is found out here.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from aiokafka import AIOKafkaConsumer, TopicPartition

from simulations.fleet.traffic import Fleet, portions
from simulations.setting import WINDOW

SILENT_MILLISECONDS = 3_000
CLOSE = 1e-4
"""Watts: some write six digits."""


@dataclass(frozen=True)
class Judged:
    """What became of the answers."""

    right: int
    wrong: int
    skipped: int
    """Windows of a meter before one that was told."""
    expected: int
    """Windows of the fleet but each meter's last, which no reading closes."""

    @property
    def good(self) -> bool:
        """Whether all are right and none was skipped; of the last ones some may still be due.

        Kafka Streams, for one, tells once a second of what is over, and only while records come.
        """
        return not self.wrong and not self.skipped and self.right > self.expected / 2


def means(fleet: Fleet) -> dict[str, list[float]]:
    """Meter -> the exact mean of each of its windows. Precondition: no record is bad or late."""
    found: dict[tuple[int, int], list[int]] = {}
    for partition in range(fleet.partitions):
        for portion in portions(fleet, partition):
            windows = portion.times // WINDOW
            for meter, window, deciwatts in zip(
                portion.meters.tolist(), windows.tolist(), portion.deciwatts[:, 0], strict=True
            ):
                found.setdefault((meter, window), []).append(int(deciwatts))
    by_meter: dict[str, list[float]] = {}
    for (meter, _), some in sorted(found.items()):
        by_meter.setdefault(fleet.name(meter).decode(), []).append(sum(some) / len(some) / 10)
    return by_meter


def judge(fleet: Fleet, told: Iterable[tuple[str, float]]) -> Judged:
    """Each answer beside those of its meter; one that was told twice is wrong the second time."""
    expected = {meter: np.array(some) for meter, some in means(fleet).items()}
    seen: dict[str, set[int]] = {meter: set() for meter in expected}
    wrong = 0
    for meter, mean in told:
        near = np.flatnonzero(np.abs(expected.get(meter, np.array([])) - mean) <= CLOSE)
        left = [nth for nth in near.tolist() if nth not in seen[meter]]
        if left:
            seen[meter].add(left[0])
        else:
            wrong += 1
    right = sum(map(len, seen.values()))
    skipped = sum(max(some) + 1 - len(some) for some in seen.values() if some)
    windows = fleet.steps * fleet.interval // WINDOW - 1
    return Judged(right, wrong, skipped, windows * fleet.meters)


async def told(bootstrap: str, topic: str, partitions: int) -> list[tuple[str, float]]:
    """(meter, mean) of what is committed to a topic, once nothing more comes."""
    found = []
    async with AIOKafkaConsumer(
        bootstrap_servers=bootstrap,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
    ) as reader:
        reader.assign([TopicPartition(topic, number) for number in range(partitions)])
        while some := await reader.getmany(timeout_ms=SILENT_MILLISECONDS):
            for records in some.values():
                found += [_answer(record.key, json.loads(record.value)) for record in records]
    return found


def _answer(key: bytes | None, document: dict[str, object]) -> tuple[str, float]:
    """Who has no room for the meter in its answer has it in the key."""
    meter = document.get("meter_id") or (key or b"").decode().partition("@")[0].strip('"')
    mean = document["avg"]
    assert isinstance(mean, float | int)  # noqa: S101 - as every contender writes it
    return str(meter), float(mean)
