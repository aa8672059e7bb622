"""Where ledgers of homes and groups were lost, no group is released twice, or on a part of it."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from meteragent.commands.exit_codes import Exit
from meteragent.config.works import Work, works
from meteragent.errors import BrokerUnreachable
from meteragent.kafka import topics
from tests.given import HOUR
from tests.integration.fleet import watching
from tests.integration.street import SUMS, closing, day, is_lost, soon, window

if TYPE_CHECKING:
    from tests.integration.street import Street

pytestmark = pytest.mark.integration


async def lose(street: Street, *lost: Work) -> None:
    """The topics of these ledgers are deleted."""
    async with watching(street.servers) as (_, admin):
        for work in lost:
            kafka = works(street.config)[work].kafka
            await admin.delete_topics([kafka.ledger])
            for _ in range(100):
                with suppress(BrokerUnreachable):  # it is just going
                    if kafka.ledger not in await topics.describe(admin, kafka):
                        break
                await asyncio.sleep(0.1)


async def released(street: Street, lines: list[bytes], awaited: set[bytes]) -> set[bytes]:
    """All that is published, once these are that come of these readings."""
    await street.produce(lines)
    async with asyncio.timeout(60), street.working():
        while not awaited <= {*(found := await street.published(10**6, seconds=2))}:
            pass
    assert len({*map(window, found)}) == len(found)
    return {*found}


async def accept(street: Street) -> str:
    """As people do it who are told what it costs."""
    agent = await street.start()
    assert await agent.ended(60) == Exit.LOST
    code, said = await street.command("ledger", "accept-loss")
    assert (code, "may share a horizon" in said) == (Exit.UNAVAILABLE, True)
    code, said = await street.command("ledger", "accept-loss", "--yes")
    assert code == Exit.OK, said
    return said


def test_a_loss_that_is_accepted_withholds_what_was_open_and_decides_nothing_again(
    street: Street,
) -> None:
    begin = soon()

    async def scenario() -> None:
        await street.prepare()
        lines = [*day(begin, 5, hours=6), *closing(begin, street.partitions)]
        expected = await street.as_of_one_file(lines)
        half = next(n for n, one in enumerate(lines) if json.loads(one)["ts"] >= begin + 3.6 * HOUR)
        before = {one for one in expected if window(one)[2] < begin + 2 * HOUR}
        after = {one for one in expected if window(one)[2] >= begin + 5 * HOUR}
        first = await released(street, lines[:half], before)
        assert first <= {*expected}

        await lose(street, Work.GROUPS, Work.HOMES)
        said = await accept(street)
        assert said.count("accounts begin anew") == SUMS
        assert said.count("sums of its homes begin anew") == 0  # they did before --yes was said
        late = await released(street, lines[half:], after) - first
        assert [one for one in late if one not in expected and not is_lost(one)] == []
        assert any(map(is_lost, late))
        assert await street.command("ledger", "accept-loss") == (Exit.OK, "nothing was lost\n")

    asyncio.run(scenario())
