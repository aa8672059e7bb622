"""Groups whose homes are spread over partitions are released exactly once, as of one file."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from meteragent.commands.exit_codes import Exit
from meteragent.config import keyfile
from meteragent.config.works import Work
from meteragent.kafka import memberships
from meteragent.kafka.clients import Clients
from meteragent.kafka.memberships import MembersTopic
from meteragent.privacy.members import FOR_EVER, Membership
from meteragent.watch.events import AgentFailed, BatchTaken, MembersRead
from tests.given import DAY
from tests.integration.street import GROUPS, MEMBERS, SUMS, by_group, closing, day, soon, window

if TYPE_CHECKING:
    from tests.integration.street import Street

pytestmark = pytest.mark.integration

REGISTERS = """
[input]
kind = "register"
unit = "Wh"
"""


def shown(lines: list[bytes]) -> list[bytes]:
    """What registers show of these readings, one after the other."""
    used: Counter[str] = Counter()
    found = []
    for reading in map(json.loads, lines):
        used[reading["meter_id"]] += reading["value"] / 12
        found.append(json.dumps(reading | {"value": used[reading["meter_id"]]}).encode())
    return found


@pytest.mark.parametrize("of", ["power", "registers"])
def test_groups_are_released_as_of_one_file(street: Street, of: str) -> None:
    begin = soon()

    async def scenario() -> None:
        lines = [*day(begin, 1, hours=3), *closing(begin, street.partitions)]
        if of == "registers":
            street.policies, lines = REGISTERS + GROUPS, shown(lines)
        await street.prepare()
        expected = await street.as_of_one_file(lines)
        await street.produce(lines)
        async with street.working() as told:
            found = await street.published(len(expected))
            rejects = Counter(
                event.rejects
                for work, event in told
                if isinstance(event, BatchTaken) and work is Work.GROUPS and event.rejects
            )
        assert by_group(found) == by_group(expected)
        assert not rejects

    asyncio.run(scenario())


async def killed(street: Street, begin: int) -> None:
    """Agents come, are killed and frozen, and others take over, while readings come."""
    lines = day(begin, 2, hours=8)
    await street.start()
    await street.start()
    size = len(lines) // 8
    for nth, low in enumerate(range(0, len(lines), size)):
        await street.produce(lines[low : low + size])
        await asyncio.sleep(1)
        if nth % 2:
            victim = street.running()[0]
            victim.signal(signal.SIGKILL)
            await victim.ended()
            await street.start()
    await street.produce(closing(begin, street.partitions))


def test_killed_agents_leave_no_release_out_and_none_twice(street: Street) -> None:
    begin = soon()

    async def scenario() -> None:
        await street.prepare()
        lines = [*day(begin, 2, hours=8), *closing(begin, street.partitions)]
        expected = await street.as_of_one_file(lines)
        try:
            await killed(street, begin)
            found = await street.published(len(expected))
            assert by_group(found) == by_group(expected)
            await street.stop()
        finally:
            await street.kill()

    asyncio.run(scenario())


def test_members_that_change_do_so_a_lead_later(street: Street) -> None:

    async def scenario() -> None:
        await street.create()
        assert "30 homes written\n" in await street.tell_members()
        assert "0 homes written, for windows that begin from" in await street.tell_members()
        assert "1 homes written, for windows" in await street.tell_members(MEMBERS[1:])
        config = street.config
        told = await MembersTopic(config, Clients(config.kafka)).read()
        assert (told.homes, told.damaged, told.too_soon) == (30, 0, 0)
        [moved] = [one for one in told.memberships if one.until != FOR_EVER]
        assert moved[:2] == ("h-0", "f-0")
        assert moved.until > time.time() * 1000 + config.kafka.groups_lead
        code, said = await street.command("check")
        assert code == Exit.OK, said

    asyncio.run(scenario())


def test_agents_notice_that_members_have_changed(
    street: Street, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memberships, "LOOK_SECONDS", 0.5)

    async def scenario() -> None:
        await street.prepare()
        async with street.working() as told:

            async def read(count: int) -> list[MembersRead]:
                async with asyncio.timeout(60):
                    while True:
                        found = [e for _, e in told if isinstance(e, MembersRead)]
                        if len(found) >= count:
                            return found
                        await asyncio.sleep(0.1)

            before = await read(2)
            later = [*MEMBERS, Membership("h-new", "f-0"), Membership("h-new", "other")]
            await street.tell_members(later)
            after = (await read(4))[2:]
        assert [e.members for e in (*before, *after)] == [60, 60, 61, 61]  # nobody releases `other`
        assert not any(isinstance(e, AgentFailed) for _, e in told)

    asyncio.run(scenario())


def test_a_replaced_key_is_adopted_by_the_ledgers_of_homes_and_of_groups(street: Street) -> None:
    """What was released is not released again with other noise, and what was spent counts on."""
    begin = soon()

    async def scenario() -> None:
        await street.prepare()
        one = [*day(begin, 3, hours=2), *closing(begin, 3)]
        two = [*day(begin + DAY, 4, hours=1), *closing(begin + DAY, 3)]
        before = await street.as_of_one_file(one)
        expected = await street.as_of_one_file([*one, *two])
        try:
            agent = await street.start()
            await street.produce(one)
            first = await street.published(len(before))
            assert by_group(first) == by_group(before)
            code, said = await street.command("key", "adopt")
            assert (code, "has running agents" in said) == (Exit.UNAVAILABLE, True)
            await street.stop()

            (street.directory / "noise.key").unlink()
            keyfile.create(street.directory / "noise.key")
            agent = await street.start()
            assert await agent.ended(60) == Exit.OWNER
            for homes, groups in ((3, SUMS), (0, 0)):
                code, said = await street.command("key", "adopt")
                assert code == Exit.OK, said
                assert f"-homes-ledger: {homes} partitions belong to this key" in said
                assert f"-groups-ledger: {groups} partitions belong to this key" in said

            await street.start()
            await street.produce(two)
            found = await street.published(len(expected))
            assert sorted(map(window, found)) == sorted(map(window, expected))
            assert {*first} <= {*found}
            assert by_group(found) != by_group(expected)  # the later ones have other noise
            code, said = await street.command("ledger", "show", "h-0")
            assert code == Exit.OK, said
            assert "in group f-0, policy quarters" in said
            assert "in group s-0, policy hours" in said
            await street.stop()
        finally:
            await street.kill()

    asyncio.run(scenario())
