"""The clients of the model: a transactional producer and a consumer, as aiokafka's behave."""

from collections.abc import Callable
from functools import partial
from typing import Any

from tests.schedules.kafka_model import OFFSETS, Busy, Fenced, Identity, Kafka, Place
from tests.schedules.scheduler import Answer, Lost, Scheduler, Steps, Task, once


class Refused(Exception):
    """The broker refused a record, as one that is too large."""


class Delivery:
    """What will become of a batch that was handed over."""

    def __init__(self) -> None:
        self.done = False
        self.error: Exception | None = None


class Producer:
    """Delivers in the background: whoever handed a batch over may be gone by then."""

    def __init__(self, kafka: Kafka, scheduler: Scheduler, name: str, home: object) -> None:
        self._kafka = kafka
        self._scheduler = scheduler
        self._name = name
        self._home = home
        self._identity: Identity | None = None
        self._deliveries: list[Delivery] = []

    def start(self) -> Steps[None]:
        """Fence every former producer of this name."""
        self._identity = yield from self._call(partial(self._kafka.start, self._name))

    def begin(self) -> None:
        """Begin a transaction, of which the broker learns only with its first record."""
        self._deliveries = []

    def hand_over(self, place: Place, records: list[tuple[Any, Any]]) -> Delivery:
        """Queue a batch."""
        delivery = Delivery()
        self._deliveries.append(delivery)
        self._work(f"delivery to {place[0]}", delivery, self._deliver(place, records))
        return delivery

    def send_offset(self, source: int, offset: object) -> Steps[None]:
        """Let the offset be committed with the transaction."""
        yield from self._add(OFFSETS)
        identity = self._known()
        yield from self._call(partial(self._kafka.commit_offset, identity, source, offset))

    def commit(self) -> Steps[None]:
        """Commit, once every batch has ended in one way or the other.

        Like aiokafka's, it commits though records failed, and even if its caller is gone.
        """
        ending = Delivery()
        self._work("end of transaction", ending, self._end())
        yield lambda: ending.done
        if ending.error is not None:
            raise ending.error

    def _end(self) -> Steps[None]:
        yield lambda: all(delivery.done for delivery in self._deliveries)
        yield from self._call(partial(self._kafka.end, self._known(), commit=True))

    def _deliver(self, place: Place, records: list[tuple[Any, Any]]) -> Steps[None]:
        yield from self._add(place)
        if self._scheduler.chance(self._scheduler.loss):
            raise Refused
        yield from self._call(once(partial(self._kafka.produce, self._known(), place, records)))

    def _add(self, place: Place) -> Steps[None]:
        yield from self._call(partial(self._kafka.add, self._known(), place))

    def _known(self) -> Identity:
        assert self._identity is not None
        return self._identity

    def _call(self, request: Callable[[], Answer]) -> Steps[Answer]:
        return self._scheduler.call(request, Busy)

    def _work(self, name: str, delivery: Delivery, steps: Steps[None]) -> None:
        def until_done() -> Task:
            try:
                yield from steps
            except (Fenced, Lost, Refused) as error:
                delivery.error = error
            delivery.done = True

        self._scheduler.start(f"{name} by {self._name}", until_done(), self._home)


class Consumer:
    """Positions and pauses of one member's assignment. Nothing tells it that it was expelled."""

    def __init__(self, kafka: Kafka, topic: str) -> None:
        self._kafka = kafka
        self._topic = topic
        self.positions: dict[int, int] = {}
        self.paused: set[int] = set()

    def assign(self, partitions: list[int]) -> None:
        """Begin anew: all paused, at no position worth anything."""
        self.positions = dict.fromkeys(partitions, 0)
        self.paused = set(partitions)

    def seek(self, partition: int, offset: int) -> None:
        """Read on from here; without effect where the partition is not assigned any more."""
        if partition in self.positions:
            self.positions[partition] = offset

    def getmany(self, most: int) -> dict[int, range]:
        """The next records of each partition that is not paused, as offsets."""
        found = {}
        for partition, at in self.positions.items():
            upto = min(at + most, self.end(partition))
            if partition not in self.paused and upto > at:
                found[partition] = range(at, upto)
                self.positions[partition] = upto
        return found

    def end(self, partition: int) -> int:
        """The high watermark."""
        return len(self._kafka.log((self._topic, partition)).entries)

    def caught_up(self, partition: int) -> bool:
        """Whether nothing is left to be read."""
        return self.positions.get(partition) == self.end(partition)
