"""The day of a street, played to the agent at high speed, and what it publishes of it."""

import asyncio
import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any, BinaryIO
from urllib.request import urlopen

import numpy as np
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from numpy.typing import NDArray

from meteragent.config import Config
from simulations.demo.processes import Child, Trouble
from simulations.demo.street import BLOCK, DAY, INTERVAL, Street
from simulations.demo.table import Counts

PATIENCE = 60.0
"""Seconds without anything new, after which it is not waited any longer."""
_SAMPLE = re.compile(r"^meteragent_(\w+?)(?:\{(.*?)\})? ([0-9.e+-]+)$", re.MULTILINE)

Show = Callable[[Counts], None]


@dataclass
class Published:
    """What everybody can read: [home, window] in watts, NaN where nothing was published yet."""

    street: Street
    config: Config
    values: NDArray[np.float64] = field(init=False)
    unbiased: NDArray[np.float64] = field(init=False)
    together: NDArray[np.float64] = field(init=False)
    """The sum of all homes, [window], in one draw."""
    released: int = 0
    withheld: int = 0
    spent: float = 0.0

    def __post_init__(self) -> None:
        """Nothing yet."""
        [self.policy] = self.config.policies
        [group] = self.config.groups
        self.of_street = group.policy
        self._rows = {home: row for row, home in enumerate(self.street.homes)}
        shape = (len(self._rows), DAY // self.policy.hop)
        self.values, self.unbiased = np.full(shape, np.nan), np.full(shape, np.nan)
        self.together = np.full(shape[1], np.nan)

    @property
    def complete(self) -> bool:
        """Whether every window of every home is there, and of their sum."""
        of_homes = self.released + self.withheld >= self.values.size
        return of_homes and bool(np.isfinite(self.together).all())

    def take(self, document: bytes) -> None:
        """One release."""
        told: dict[str, Any] = json.loads(document)
        window = (told["window_start"] - self.street.begin) // self.policy.hop
        if window >= len(self.together):  # of what comes after midnight
            return
        name = self.policy.questions[0].query.name
        if "group_id" in told:
            self.together[window] = told["unbiased"][name]
        elif told["status"] != "released":
            self.withheld += 1
        else:
            self.released += 1
            self.spent += sum(map(float, told["epsilon"].values()))
            row = self._rows[told["meter_id"]]
            self.values[row, window] = told["values"][name]
            self.unbiased[row, window] = told["unbiased"][name]

    def counts(self, counts: Counts) -> Counts:
        """Everything that can be told from what was published."""
        budget = self.policy.budget / 1e9 * len(self._rows)
        counts.released, counts.withheld = self.released, self.withheld
        counts.spent = self.spent / budget
        return counts


def _paced(street: Street, seconds: float) -> Iterator[tuple[float, int, list[bytes], list[bytes]]]:
    """(when, until when of the day, keys, records), block by block."""
    steps, begun = DAY // BLOCK, time.monotonic()
    for number, (start, rows) in enumerate(groupby(street.blocks(), itemgetter(0))):
        keys, records = [], []
        for _, home, readings in rows:
            block = {"meter_id": home, "start": start, "interval_ms": INTERVAL, "values": readings}
            keys.append(home.encode())
            records.append(json.dumps(block, separators=(",", ":")).encode())
        yield begun + seconds * (number + 1) / steps, start + BLOCK, keys, records


async def _until(moment: float) -> None:
    await asyncio.sleep(max(0.0, moment - time.monotonic()))


async def through_kafka(
    published: Published, seconds: float, metrics: str, agent: Child, show: Show
) -> Counts:
    """Produce, and read what the agent publishes; the counts are those of its metrics."""
    kafka, counts = published.config.kafka, Counts()
    servers = list(kafka.bootstrap_servers)
    async with (
        AIOKafkaProducer(bootstrap_servers=servers, linger_ms=20, max_batch_size=2**18) as producer,
        AIOKafkaConsumer(
            kafka.output,
            kafka.groups_output,
            bootstrap_servers=servers,
            isolation_level="read_committed",
            auto_offset_reset="earliest",
        ) as consumer,
    ):
        reading = asyncio.create_task(_read(consumer, published, agent))
        watching = asyncio.create_task(_watch(metrics, published, counts, show))
        try:
            for moment, clock, keys, records in _paced(published.street, seconds):
                for key, record in zip(keys, records, strict=True):
                    await producer.send(kafka.input, record, key=key)
                await _until(moment)
                counts.moment = clock
            await producer.flush()
            await reading
            await _until_told(counts, published)
        finally:
            for task in (reading, watching):
                task.cancel()
            await asyncio.gather(reading, watching, return_exceptions=True)
    return counts


async def _read(consumer: AIOKafkaConsumer, published: Published, agent: Child) -> None:
    heard = time.monotonic()
    while not published.complete:
        found = await consumer.getmany(timeout_ms=200, max_records=5000)
        for records in found.values():
            heard = time.monotonic()
            for record in records:
                published.take(record.value)
        if not agent.running:
            raise Trouble(f"the agent has ended: {agent.last_words()}")
        if time.monotonic() - heard > PATIENCE:
            raise Trouble(f"nothing was published for {PATIENCE:.0f} s")


async def _watch(metrics: str, published: Published, counts: Counts, show: Show) -> None:
    while True:
        await asyncio.to_thread(_scrape, metrics, published, counts)
        show(counts)
        await asyncio.sleep(0.2)


async def _until_told(counts: Counts, published: Published) -> None:
    """The metrics follow what was published within a second or two."""
    for _ in range(100):
        told = counts.released + counts.withheld >= published.released + published.withheld
        if told and not counts.lag:
            return
        await asyncio.sleep(0.1)


def _scrape(metrics: str, published: Published, counts: Counts) -> None:
    with urlopen(metrics, timeout=5) as answer:  # noqa: S310 - our own agent's
        samples = _SAMPLE.findall(answer.read().decode())

    def total(name: str, label: str = "") -> float:
        """Of homes alone: what is about their group has a label that says so."""
        of_homes = ((n, labels, v) for n, labels, v in samples if "work=" not in labels)
        return sum(float(v) for n, labels, v in of_homes if n == name and label in labels)

    counts.readings = int(total("readings_total", 'outcome="accepted"'))
    counts.released = int(total("windows_released_total"))
    counts.withheld = int(total("windows_suppressed_total"))
    [guarantee] = published.config.guarantees.values()
    budget = float(guarantee.epsilon(guarantee.policy.budget))
    counts.spent = total("epsilon_spent_total") / budget / len(published.values)
    counts.lag = int(total("partition_lag_records"))


@dataclass(frozen=True, slots=True)
class Pipe:
    """One `sanitize`, and the lines that it writes."""

    child: Child
    lines: BinaryIO

    def feed(self, text: bytes) -> None:
        """Trouble: it has ended."""
        try:
            self.child.write(text)
        except BrokenPipeError as error:
            raise Trouble(f"sanitize ended: {self.child.last_words()}") from error

    def end(self) -> None:
        """No more of it, and all that it makes. Trouble: it failed."""
        with suppress(BrokenPipeError):
            self.child.close()
        if self.child.wait():
            raise Trouble(f"sanitize failed: {self.child.last_words()}")

    def take(self, published: Published) -> None:
        """Every line that is whole by now."""
        while line := self.lines.readline():
            if not line.endswith(b"\n"):
                self.lines.seek(-len(line), 1)
                return
            published.take(line)


async def through_pipes(
    published: Published, seconds: float, pipes: Sequence[Pipe], show: Show
) -> Counts:
    """Write to each `sanitize`, and read the lines that they write."""
    counts = Counts()
    for moment, clock, _, records in _paced(published.street, seconds):
        text = b"\n".join(records) + b"\n"
        await asyncio.gather(*(asyncio.to_thread(pipe.feed, text) for pipe in pipes))
        counts.readings += len(records) * BLOCK // INTERVAL
        await _until(moment)
        counts.moment = clock
        for pipe in pipes:
            pipe.take(published)
        show(published.counts(counts))
    for pipe in pipes:
        await asyncio.to_thread(pipe.end)
        pipe.take(published)
    return published.counts(counts)
