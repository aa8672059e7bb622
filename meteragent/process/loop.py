"""The event loop that the agent runs on, uvloop where it is installed, and its clocks."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Coroutine
from ctypes import CDLL
from importlib.util import find_spec
from typing import TypeVar

T = TypeVar("T")

Work = Callable[[], Awaitable[None]]

SPARE_BYTES = 64 * 2**20
"""So much is kept for later of what was freed."""
MAPPED_BYTES = 16 * 2**20
"""What is larger goes back at once."""
SWITCH_SECONDS = 1e-4
"""So long one thread keeps Python's lock from another: as long as it takes to decode some hundred
records. Python's own five milliseconds are longer than what threads are asked for takes."""
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h

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


def run_until_done(work: Coroutine[object, object, T]) -> T:
    """What comes of it; what libraries leave behind in the loop is told by its type alone."""
    keep_memory()
    sys.setswitchinterval(SWITCH_SECONDS)
    with asyncio.Runner(loop_factory=_factory()) as runner:
        return runner.run(work)


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


def keep_memory() -> bool:
    """Let what is freed be used again at once; answer whether this C library can.

    Answers to fetches take some megabytes and are soon let go of: glibc would give their pages back
    and ask for others, which cost as much as to read what is in them.
    """
    try:
        mallopt = CDLL(None).mallopt
    except (AttributeError, OSError):
        return False
    return bool(mallopt(_TRIM_THRESHOLD, SPARE_BYTES) and mallopt(_MMAP_THRESHOLD, MAPPED_BYTES))


def _factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    if find_spec("uvloop") is None:
        return None
    import uvloop  # noqa: PLC0415 - optional

    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory
