"""A partition that is taken away in the moment in which it is given leaves nothing behind."""

import asyncio
import gc
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

from meteragent.config.kafka import Kafka
from meteragent.kafka.handover import Handover
from meteragent.kafka.worker import Worker
from meteragent.stream.partition import Event, State

if TYPE_CHECKING:
    from meteragent.kafka.handover import Shared
    from meteragent.kafka.intake import Intake


def test_what_was_not_even_begun_is_taken_back() -> None:
    """A coroutine that nobody awaited would warn, and fail this run."""
    told: list[object] = []
    config = SimpleNamespace(kafka=Kafka(input="meters"))
    shared = cast("Shared", SimpleNamespace(config=config, clock=time.monotonic, tell=told.append))

    async def scenario() -> State:
        worker = Worker(shared, 0)
        worker.on(Event.BEGIN)
        worker.on(Event.REVOKED)
        await asyncio.sleep(0)
        return worker.life.state

    assert asyncio.run(scenario()) is State.LOST
    gc.collect()
    assert told


def test_what_takes_records_in_is_told_that_nobody_wants_them_any_more() -> None:
    """Else it would go on with what is under way in it, and tell of it as if it were committed."""
    forgotten: list[str] = []
    taking = cast("Intake", SimpleNamespace(forget=lambda: forgotten.append("all")))
    config = SimpleNamespace(kafka=Kafka(input="meters"))
    shared = cast("Shared", SimpleNamespace(config=config, clock=time.monotonic))
    worker = Worker(shared, 0, Handover(intake=taking))
    assert worker.intake is taking
    worker.discard()
    assert forgotten == ["all"]
    assert worker.intake is None
