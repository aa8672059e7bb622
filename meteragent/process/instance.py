"""An instance that works until it is told to end, and starts over for as long as that may help."""

import asyncio
import signal
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from meteragent.config import Config
from meteragent.errors import MeterAgentError
from meteragent.privacy.entropy import NoiseKey
from meteragent.process.loop import LAST_RETRY_SECONDS, Clock, Work, back_off
from meteragent.watch.events import AgentFailed, Listener

FIRST_RETRY_SECONDS = 0.5
SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def heeded(stop: Callable[[], None]) -> Iterator[None]:
    """Signals to end call `stop` meanwhile."""
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)


class Instance(ABC):
    """What is the same for everything that runs, whichever broker it talks to."""

    def __init__(
        self, config: Config, key: NoiseKey, tell: Listener, clock: Clock, wall: Clock
    ) -> None:
        self._config, self._key, self._tell = config, key, tell
        self._now, self._wall = clock, wall
        self._stopping = asyncio.Event()
        self._progressed = clock()

    async def run(self) -> None:
        """Run until a signal or `stop`; raise what will not get better by waiting."""
        with heeded(self.stop):
            await self.work()

    @abstractmethod
    async def work(self) -> None:
        """The same, where others heed the signals."""

    async def _again_and_again(self, once: Work, *over: type[BaseException]) -> None:
        """Do it until we are told to end; `over`: what is waited for, longer after each failure.

        Raise what is no better later.
        """
        failures = 0
        while not self._stopping.is_set():
            begun = self._now()
            try:
                await once()
            except over as error:
                if isinstance(error, MeterAgentError) and not error.retriable:
                    raise
                lasted = self._now() - begun > LAST_RETRY_SECONDS
                failures = 1 if lasted else failures + 1
                await self._wait(error, back_off(FIRST_RETRY_SECONDS, failures))

    async def _wait(self, error: BaseException, seconds: float) -> None:
        self._tell(AgentFailed(error, seconds))
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)

    def stop(self) -> None:
        """Commit what there is, and end."""
        self._stopping.set()

    # What is asked by those who show how it is.

    @property
    def fingerprint(self) -> str:
        """Of the noise key, so that instances with different ones are noticed."""
        return self._key.fingerprint

    @property
    def stopping(self) -> bool:
        """Whether it has been told to end."""
        return self._stopping.is_set()

    @property
    def alive(self) -> bool:
        """Whether there is progress: not that the process is up, but that it gets somewhere."""
        return self.stood_still < self._config.agent.progress_deadline / 1000

    @property
    def stood_still(self) -> float:
        """For how many seconds it has let wait for it."""
        return self._now() - self._progressed
