"""When the agent's loop does not turn, somebody still answers."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from meteragent.kafka.agent import Agent
from meteragent.watch.metrics import Monitor
from meteragent.watch.status import Status
from meteragent.watch.web import serving
from tests.integration.fleet import Fleet

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.integration


def code(address: str, path: str) -> int:
    try:
        with urlopen(f"{address}{path}", timeout=20) as answer:  # noqa: S310 - our own agent's
            return int(answer.status)
    except HTTPError as refused:
        return refused.code


def becomes(address: str, path: str, wanted: int) -> bool:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if code(address, path) == wanted:
            return True
    return False


def test_a_loop_that_is_stuck_is_not_alive_until_it_turns_again(kafka: str, tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, kafka, partitions=1, agent='progress_deadline = "2s"')
    freed = threading.Event()

    def watch_the_stuck(address: str) -> tuple[bool, int]:
        try:
            return becomes(address, "/healthz", 503), code(address, "/metrics")
        finally:
            freed.set()

    async def scenario() -> None:
        await fleet.create()
        config = fleet.config
        monitor = Monitor(config)
        agent = Agent(config, config.agent.noise_key(), monitor.tell)
        monitor.watch(agent)
        async with serving(config.http, Status(config, monitor, agent).pages()) as address:
            running = asyncio.create_task(agent.run())
            assert await asyncio.to_thread(becomes, address, "/readyz", 200)
            assert await asyncio.to_thread(code, address, "/healthz") == 200
            watching = asyncio.create_task(asyncio.to_thread(watch_the_stuck, address))
            await asyncio.sleep(0)  # lets the watch begin
            assert freed.wait(100)  # the loop stands still in here
            noticed, metrics = await watching
            assert noticed
            assert metrics == 503  # what only the loop can tell is not made up
            assert await asyncio.to_thread(becomes, address, "/healthz", 200)
            agent.stop()
            await running

    asyncio.run(scenario())
