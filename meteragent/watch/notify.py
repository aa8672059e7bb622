"""What the service manager is told: ready, alive while there is progress, stopping, how it stands.

The protocol is sd_notify(3): lines in one datagram, sent to the socket that NOTIFY_SOCKET names.
Where nobody listens, nothing is told, and the agent works on.

A ping says that there is progress, not that the process is up: an agent whose loop, brokers or
commits stand still stops to ping, and is started anew as by the liveness probe. What is told is
on the untrusted side: counts of partitions, and nothing of readings.
"""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, closing, suppress
from typing import Protocol

EVERY_SECONDS = 1.0
PINGS_PER_DEADLINE = 4
"""systemd asks for two; with more, one that comes late kills nobody."""
STOPPING = "Stopping: committing what there is."


class Served(Protocol):
    """What is asked of an agent."""

    @property
    def ready(self) -> bool:
        """Whether every partition of its is running."""

    @property
    def alive(self) -> bool:
        """Whether it gets on."""

    @property
    def stopping(self) -> bool:
        """Whether it has been told to end."""


class Manager:
    """The service manager's end of the line."""

    def __init__(self, address: str, period: float = EVERY_SECONDS) -> None:
        """`address` is a path, or the name of an abstract socket after `@`."""
        self.period = period
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.settimeout(0)  # or a manager that hangs would stop the loop

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> "Manager | None":
        """The one that started us, if it wants to hear from us."""
        address = environ.get("NOTIFY_SOCKET", "")
        if not address.startswith(("/", "@")):
            return None
        return cls(address, _period(environ))

    def tell(self, lines: list[str]) -> None:
        """Send these, if there are any, and anybody to take them."""
        if lines:
            with suppress(OSError):
                self._socket.sendto("\n".join(lines).encode(), self._address)

    def close(self) -> None:
        """Say no more."""
        self._socket.close()


class Report:
    """What there is to tell of an agent, from one moment to the next."""

    def __init__(self, agent: Served, sentence: Callable[[], str]) -> None:
        self._agent = agent
        self._sentence = sentence
        self._ready = False
        self._said = ""

    def news(self) -> list[str]:
        """What holds now; a ping only if there is progress, and readiness once."""
        stopping = self._agent.stopping
        before, self._said = self._said, STOPPING if stopping else self._sentence()
        lines = ["STOPPING=1"] if stopping else self._signs()
        return lines if self._said == before else [*lines, f"STATUS={self._said}"]

    def _signs(self) -> list[str]:
        signs = ["WATCHDOG=1"] if self._agent.alive else []
        if self._agent.ready and not self._ready:
            self._ready = True
            signs.append("READY=1")
        return signs


@asynccontextmanager
async def reporting(
    environ: Mapping[str, str], agent: Served, sentence: Callable[[], str]
) -> AsyncIterator[None]:
    """Keep the service manager posted meanwhile, if there is one."""
    manager = Manager.of(environ)
    if manager is None:
        yield
        return
    report = Report(agent, sentence)
    with closing(manager):
        task = asyncio.create_task(_report(manager, report))
        try:
            yield
        finally:
            task.cancel()
            manager.tell(report.news())  # or a quick end would go untold


async def _report(manager: Manager, report: Report) -> None:
    while True:
        manager.tell(report.news())
        await asyncio.sleep(manager.period)


def _period(environ: Mapping[str, str]) -> float:
    """How often to tell: often enough for the manager's watchdog, if it has one for us."""
    deadline = environ.get("WATCHDOG_USEC", "")
    ours = environ.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
    if not deadline.isdecimal() or not int(deadline) or not ours:
        return EVERY_SECONDS
    return min(EVERY_SECONDS, int(deadline) / 1e6 / PINGS_PER_DEADLINE)
