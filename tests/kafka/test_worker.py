"""A partition that is taken away in the moment in which it is given leaves nothing behind."""

import asyncio
import gc
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

from meteragent.config.kafka import Kafka
from meteragent.kafka.worker import Worker
from meteragent.stream.partition import Event, State

if TYPE_CHECKING:
    from meteragent.kafka.handover import Shared


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
