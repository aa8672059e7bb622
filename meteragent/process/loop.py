"""The event loop that the agent runs on, uvloop where it is installed, and its clocks."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from importlib.util import find_spec
from typing import TypeVar

T = TypeVar("T")

Work = Callable[[], Awaitable[None]]
Clock = Callable[[], float]
"""Answers with seconds: those that pass, whatever is done to the wall clock, or those that it
shows. Tests hand in others."""


LAST_RETRY_SECONDS = 15.0


def back_off(first: float, failures: int) -> float:
    """Seconds until the next try: twice as long after each failure, up to a limit."""
    return min(first * (1 << min(failures - 1, 10)), LAST_RETRY_SECONDS)


async def within(milliseconds: int, work: Work) -> None:
    """Do it in time. TimeoutError: it takes longer; a client that waits on would wait for ever."""
    async with asyncio.timeout(milliseconds / 1000):
        await work()


def run_until_done(work: Coroutine[object, object, None]) -> None:
    """Run to the end; what libraries leave behind in the loop is told by its type alone."""
    with asyncio.Runner(loop_factory=_factory()) as runner:
        runner.run(work)


async def unless(ended: asyncio.Event, work: Coroutine[object, object, T]) -> T | None:
    """What comes of `work`; nothing if `ended` comes first, and work is cancelled."""
    task = asyncio.ensure_future(work)
    waiting = asyncio.ensure_future(ended.wait())
    try:
        await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        task.cancel()
        await asyncio.wait({task})
        return None
    finally:
        task.cancel()
        waiting.cancel()


def _factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    if find_spec("uvloop") is None:
        return None
    import uvloop  # noqa: PLC0415 - optional

    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory
