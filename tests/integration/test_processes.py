"""Several processes are one instance: killed one by one, nothing is lost or released twice."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from meteragent.commands.exit_codes import Exit
from meteragent.config import keyfile
from tests.integration.fleet import Fleet
from tests.integration.load import Load, produce
from tests.integration.oracle import assert_exactly_once
from tests.integration.test_watching import scraped, to_the_end, until

if TYPE_CHECKING:
    from tests.integration.fleet import Agent

pytestmark = pytest.mark.integration

TWO = "processes = 2"


def children(agent: Agent) -> list[int]:
    """The processes that it has started and that still run."""
    pid = agent.process.pid
    try:
        return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def are_gone(pids: list[int]) -> None:
    async def gone() -> bool:
        return not any(map(is_there, pids))

    await until(gone, 30)


@pytest.mark.parametrize("kills", [1, pytest.param(5, marks=pytest.mark.slow)])
def test_children_are_killed_again_and_again_and_the_counts_only_grow(
    tmp_path: Path, servers: str, kills: int
) -> None:
    """Killed while readings come: byte for byte what the pipeline alone would have made."""
    fleet = Fleet(tmp_path, servers, agent=TWO)

    async def scenario() -> None:
        await fleet.create()
        agent = await fleet.start()
        await agent.becomes("ready")
        assert len(children(agent)) == 2
        before: dict[tuple[str, ...], float] = {}

        async def grows() -> None:
            nonlocal before
            now = await scraped(agent)
            fallen = {k for k, n in before.items() if "_total" in k[0] and now.get(k, 0) < n}
            assert not fallen
            before = now

        sending = asyncio.create_task(
            produce(servers, fleet.config.kafka.input, Load(3, meters=600), 3 * kills)
        )
        for kill in range(kills):
            await asyncio.sleep(1)
            await grows()
            before_kill = children(agent)
            os.kill(before_kill[kill % len(before_kill)], signal.SIGKILL)
            for _ in range(5):
                await asyncio.sleep(0.2)
                await grows()

            async def is_back() -> bool:
                await grows()
                return len(children(agent)) == 2

            await until(is_back)
        await sending
        await fleet.all_done()
        await agent.becomes("ready")
        await asyncio.sleep(2.5)  # two reports of each
        await grows()
        policies = [policy.name for policy in fleet.config.policy]
        told = sum(before["windows_closed_total", policy] for policy in policies)
        assert before["process_ends_total", "killed"] == kills
        assert before["partitions", "running"] + before["partitions", "committing"] == 6
        status = json.loads((await agent.shows("/status.json"))[1])
        assert [row["partition"] for row in status["partitions"]] == list(range(6))
        assert sum(p["windows"]["closed"] for p in status["policies"]) == told
        assert {e["error"] for e in status["errors"] if e["where"][:7] == "process"} == {"signal 9"}
        assert len(agent.said("process ended", signal=9)) == kills
        pids = children(agent)
        await fleet.stop()
        await are_gone(pids)
        written, again = await assert_exactly_once(servers, fleet.config, fleet.partitions)
        lost = written - told
        print(f"{written} releases, {again} written again, {lost:.0f} not counted")  # noqa: T201
        # Between a commit and its count a process may be killed: of each kill, a commit.
        assert 0 <= lost <= written / 20

    asyncio.run(to_the_end(fleet, scenario()))


def test_what_starting_again_does_not_mend_ends_them_all_with_its_code(
    tmp_path: Path, servers: str
) -> None:
    fleet = Fleet(tmp_path, servers, partitions=2, agent=TWO)

    async def scenario() -> None:
        await fleet.create()
        agent = await fleet.start()
        await agent.becomes("ready")
        (tmp_path / "noise.key").rename(tmp_path / "old.key")
        keyfile.create(tmp_path / "noise.key")
        pids = children(agent)
        os.kill(pids[0], signal.SIGKILL)  # the next one reads another key
        assert await agent.ended(60) == Exit.OWNER
        await are_gone(pids)
        [line] = agent.said("process gives up")
        assert line["code"] == Exit.OWNER

    asyncio.run(to_the_end(fleet, scenario()))


def test_whoever_is_left_alone_commits_and_ends(tmp_path: Path, servers: str) -> None:
    """The one that looks after the others is killed: no process works on that nobody sees."""
    fleet = Fleet(tmp_path, servers, partitions=2, agent=TWO)

    async def scenario() -> None:
        await fleet.create()
        agent = await fleet.start()
        await agent.becomes("ready")
        pids = children(agent)
        agent.signal(signal.SIGKILL)
        await agent.ended()
        await are_gone(pids)
        assert not agent.said("agent ended")

    asyncio.run(to_the_end(fleet, scenario()))
