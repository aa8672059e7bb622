"""What the service manager hears, on a real datagram socket."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from meteragent.watch.notify import Manager, Report, reporting

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

QUICK = "20000"  # microseconds of a watchdog that asks for a ping every few milliseconds


@dataclass
class Agent:
    """Stands as a test wants it to."""

    ready: bool = False
    alive: bool = True
    stopping: bool = False
    sentence: str = "Starting."

    def said(self) -> str:
        return self.sentence


@dataclass
class Ear:
    """The manager's end of the socket."""

    socket: socket.socket
    address: str
    heard: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """What one datagram says."""
        said = self.socket.recv(4096).decode().splitlines()
        self.heard += said
        return said

    def until(self, line: str) -> None:
        while line not in self.lines():
            pass

    def is_silent(self, seconds: float) -> bool:
        self.socket.settimeout(seconds)
        try:
            self.lines()
        except TimeoutError:
            return True
        finally:
            self.socket.settimeout(5)
        return False

    def forget(self) -> None:
        """Throw away what lies in the socket."""
        while not self.is_silent(0.001):
            pass


@contextmanager
def listening(address: str) -> Iterator[Ear]:
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as ear:
        ear.bind("\0" + address[1:] if address.startswith("@") else address)
        ear.settimeout(5)
        yield Ear(ear, address)


@pytest.fixture(params=["path", "abstract"])
def ear(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ear]:
    path = str(tmp_path / "notify")
    with listening(path if request.param == "path" else f"@{secrets.token_hex(8)}") as one:
        yield one


def report(agent: Agent) -> Report:
    return Report(agent, agent.said)


def test_readiness_is_told_once_and_only_when_it_holds() -> None:
    agent = Agent()
    told = report(agent)
    assert told.news() == ["WATCHDOG=1", "STATUS=Starting."]
    agent.ready, agent.sentence = True, "Running."
    assert told.news() == ["WATCHDOG=1", "READY=1", "STATUS=Running."]
    agent.ready = False
    assert told.news() == ["WATCHDOG=1"]
    agent.ready = True
    assert told.news() == ["WATCHDOG=1"]


def test_nothing_pings_without_progress() -> None:
    agent = Agent(ready=True)
    told = report(agent)
    told.news()
    agent.alive, agent.sentence = False, "No progress."
    assert told.news() == ["STATUS=No progress."]
    assert told.news() == []
    agent.alive = True
    assert told.news() == ["WATCHDOG=1"]


def test_an_agent_that_stops_says_so_and_pings_no_more() -> None:
    agent = Agent(ready=True)
    told = report(agent)
    told.news()
    agent.stopping = True
    assert told.news()[0] == "STOPPING=1"
    assert "WATCHDOG=1" not in told.news()


def test_the_manager_hears_the_whole_life(ear: Ear) -> None:
    agent = Agent()
    environ = {"NOTIFY_SOCKET": ear.address, "WATCHDOG_USEC": QUICK}

    async def life() -> None:
        async with reporting(environ, agent, agent.said):
            await asyncio.to_thread(ear.until, "WATCHDOG=1")
            assert "READY=1" not in ear.heard
            agent.ready = True
            await asyncio.to_thread(ear.until, "READY=1")
            agent.alive, agent.sentence = False, "No progress."
            await asyncio.to_thread(ear.until, "STATUS=No progress.")
            ear.forget()
            assert await asyncio.to_thread(ear.is_silent, 0.1)
            agent.alive = True
            await asyncio.to_thread(ear.until, "WATCHDOG=1")
            agent.stopping = True
        ear.until("STOPPING=1")

    asyncio.run(life())


def test_pings_come_often_enough_for_the_deadline(ear: Ear) -> None:
    def period(**environ: str) -> float:
        manager = Manager.of({"NOTIFY_SOCKET": ear.address, **environ})
        assert manager is not None
        manager.close()
        return manager.period

    assert period() == 1.0
    assert period(WATCHDOG_USEC="30000000") == 1.0
    assert period(WATCHDOG_USEC="2000000") == 0.5
    assert period(WATCHDOG_USEC="2000000", WATCHDOG_PID=str(os.getpid())) == 0.5
    assert period(WATCHDOG_USEC="2000000", WATCHDOG_PID="1") == 1.0
    assert period(WATCHDOG_USEC="soon") == 1.0
    assert period(WATCHDOG_USEC="0") == 1.0


@pytest.mark.parametrize("environ", [{}, {"NOTIFY_SOCKET": ""}, {"NOTIFY_SOCKET": "vsock:2:9"}])
def test_without_a_manager_that_is_understood_nothing_is_told(environ: dict[str, str]) -> None:
    assert Manager.of(environ) is None


def test_a_manager_that_has_gone_stops_nobody(tmp_path: Path) -> None:
    address = str(tmp_path / "notify")
    manager = Manager(address)
    manager.tell(["READY=1"])  # was never there
    with listening(address):
        manager.tell(["READY=1"])
    manager.tell(["WATCHDOG=1"])
    manager.close()


def test_a_manager_that_does_not_listen_blocks_nobody(tmp_path: Path) -> None:
    with listening(str(tmp_path / "notify")) as ear:
        manager = Manager(ear.address)
        for _ in range(10_000):  # more than any socket's queue takes
            manager.tell(["WATCHDOG=1"])
        assert ear.lines() == ["WATCHDOG=1"]
        manager.close()
