"""The way to the model of Kafka and back: slow, and not always there."""

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import TypeVar

from aiokafka.errors import KafkaConnectionError, ProducerFenced

from tests.schedules.kafka_model import Busy, Fenced, Identity, Kafka, Place
from tests.schedules.loop import Loop

Answer = TypeVar("Answer")

LATENCIES = (0.001, 0.01, 0.1, 0.6)
"""The most seconds of a way; each is drawn anew."""
BACK_OFF = 0.02


_WORLD = Context()


class Lost(Exception):
    """A request, or the answer to it, is gone."""


class Network:
    """Carries requests. One that is under way arrives, though its sender is dead by then."""

    def __init__(self, loop: Loop, kafka: Kafka, wall: Callable[[], int]) -> None:
        self.loop = loop
        self.kafka = kafka
        self.wall = wall
        """Milliseconds by everybody's wall clock."""
        self.calm = False
        """Whether faults are over."""
        self._loss = loop.random.choice((0.0, 0.02, 0.06))
        """How likely a request or its reply is lost."""
        self._back_at = 0.0
        self._under_way = 0

    def chance(self, probability: float) -> bool:
        """Whether something happens that can go wrong; never when all is calm."""
        return not self.calm and self.loop.chance(probability)

    def fall_silent(self, seconds: float) -> None:
        """Nothing arrives for a while."""
        self._back_at = self.loop.now + seconds

    def tell_logs(self) -> None:
        """What is decided reaches each log in its own time, in any order."""
        while self._under_way < len(self.kafka.markers):
            self._under_way += 1
            self._later(self._write_marker)

    def _write_marker(self) -> None:
        self._under_way -= 1
        self.kafka.write_marker(self.loop.random.randrange(len(self.kafka.markers)))

    def begin(self, identity: Identity, place: Place, timeout: float) -> None:
        """Make a log part of a transaction; one that takes longer than that is aborted."""
        owner = self.kafka.owners[identity.name]
        before = owner.transaction
        self.kafka.add(identity, place)
        begun = owner.transaction
        if begun is not before:

            def expire() -> None:
                if owner.transaction is begun:
                    self.kafka.expire(identity.name)
                    self.tell_logs()

            self.loop.call_later(timeout, expire, context=_WORLD)

    async def call(self, request: Callable[[], Answer]) -> Answer:
        """Send a request and wait for the answer, as a client does that retries.

        The request must be idempotent. It may be applied though its sender is told that it
        failed, is told nothing, or is not there any more.
        """
        while True:
            answer: asyncio.Future[Answer] = self.loop.create_future()
            self._later(lambda: self._arrive(request, answer))  # noqa: B023 - awaited below
            try:
                return await answer
            except Busy:
                pass
            except Lost:
                if self.chance(0.5):
                    raise KafkaConnectionError("lost: nobody knows where") from None
            await asyncio.sleep(BACK_OFF)

    def _later(self, work: Callable[[], object]) -> None:
        random = self.loop.random
        way = random.choice(LATENCIES) * random.random()
        at = max(self.loop.now, self._back_at) + way
        self.loop.call_at(at, work, context=_WORLD)

    def _arrive(self, request: Callable[[], Answer], answer: "asyncio.Future[Answer]") -> None:
        if self.chance(self._loss):
            self._later(lambda: _fail(answer, Lost()))
            return
        try:
            found = request()
        except Busy as error:
            self.tell_logs()
            self._later(lambda busy=error: _fail(answer, busy))  # type: ignore[misc]
        except Fenced:
            self._later(lambda: _fail(answer, ProducerFenced("another has the name by now")))
        else:
            self.tell_logs()
            lost = self.chance(self._loss)
            self._later(lambda: _fail(answer, Lost()) if lost else _tell(answer, found))


def _tell(answer: "asyncio.Future[Answer]", found: Answer) -> None:
    if not answer.done():
        answer.set_result(found)


def _fail(answer: "asyncio.Future[Answer]", error: Exception) -> None:
    if not answer.done():
        answer.set_exception(error)


def once(request: Callable[[], None]) -> Callable[[], None]:
    """Make a request idempotent, as sequence numbers do for batches."""
    done: list[bool] = []

    def apply() -> None:
        if not done:
            request()
            done.append(True)

    return apply
