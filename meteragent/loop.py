"""The event loop that the agent runs on: uvloop where it is installed."""

import asyncio
from collections.abc import Callable, Coroutine
from importlib.util import find_spec


def run_until_done(work: Coroutine[object, object, None]) -> None:
    """Run to the end; what libraries leave behind in the loop is told by its type alone."""
    with asyncio.Runner(loop_factory=_factory()) as runner:
        runner.run(work)


def _factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    if find_spec("uvloop") is None:
        return None
    import uvloop  # noqa: PLC0415 - optional

    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory
