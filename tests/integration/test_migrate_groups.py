"""Homes and groups follow the input, and the sums, to more partitions; open windows go on."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
from aiokafka.admin import NewPartitions

from meteragent.commands.exit_codes import Exit
from meteragent.kafka import migrate_groups
from meteragent.kafka.migrate_groups import migrate_all
from tests.given import HOUR, MINUTE
from tests.integration.fleet import watching
from tests.integration.street import closing, day, is_lost, soon, window

if TYPE_CHECKING:
    from meteragent.kafka.migrate import Moved
    from tests.integration.street import Street

pytestmark = pytest.mark.integration

FEW, MANY, SUMS_THEN = 2, 4, 3


class Growing:
    """A street whose input, and whose sums, get more partitions in the midst of an hour."""

    def __init__(self, street: Street) -> None:
        self.street, self.begin = street, soon()
        every = day(self.begin, 6, hours=7)
        at = {line: json.loads(line)["ts"] - self.begin for line in every}
        self.one = [line for line in every if at[line] < 3.5 * HOUR]
        last = [line for line in every if at[line] >= 4 * HOUR]
        self.two = [*last, *closing(self.begin, MANY)]
        self.over = self.begin + 4 * HOUR + 10 * MINUTE
        """When everything of the first has closed, and nothing that comes later."""

    async def begun(self) -> None:
        """Some windows are decided, in the few partitions, and all agents have ended."""
        street = self.street
        await street.prepare()
        await street.produce(self.one)
        async with street.working():
            assert await street.published(1)
        async with watching(street.servers) as (_, admin):
            kafka = street.config.kafka
            for topic, count in ((kafka.input, MANY), (kafka.partials, SUMS_THEN)):
                await admin.create_partitions({topic: NewPartitions(count)})
        street.partitions, street.sums = MANY, SUMS_THEN

    async def migrated(self) -> Moved:
        """As the command does it, once the readings are over."""
        config = self.street.config
        return await migrate_all(config, config.agent.noise_key(), self.over)

    async def gone_on(self, count: int) -> list[bytes]:
        """All that is released, once the rest has come."""
        await self.street.produce(self.two)
        async with self.street.working():
            return await self.street.published(count)


def test_homes_and_groups_follow_and_their_open_windows_go_on(street: Street) -> None:
    street.partitions = FEW
    growing = Growing(street)

    async def scenario() -> None:
        await growing.begun()
        expected = await street.as_of_one_file([*growing.one, *growing.two])
        agent = await street.start()
        assert await agent.ended(60) == Exit.TOPICS
        assert "run `meteragent ledger migrate`" in agent.log.read_text()
        code, said = await street.command("ledger", "migrate")
        assert (code, "has readings that are waited for" in said) == (Exit.UNAVAILABLE, True), said
        done = await growing.migrated()
        assert done.accounts > 0
        assert done.windows > 0
        assert await street.command("ledger", "migrate") == (Exit.OK, "0 accounts moved\n")
        found = await growing.gone_on(len(expected))
        assert sorted(found) == sorted(expected)

    asyncio.run(scenario())


class BrokenOff(Exception):
    """In the middle."""


@pytest.mark.slow
@pytest.mark.parametrize("step", ["mark", "widen", "move", "finish"])
def test_a_migration_of_groups_that_was_broken_off_goes_on(street: Street, step: str) -> None:
    street.partitions = FEW
    growing = Growing(street)
    real, calls = getattr(migrate_groups, step), []

    async def breaks(*arguments: object, **named: object) -> object:
        calls.append(arguments)
        if len(calls) == 2:
            raise BrokenOff
        return await real(*arguments, **named)

    async def scenario() -> None:
        await growing.begun()
        expected = await street.as_of_one_file([*growing.one, *growing.two])
        with patch.object(migrate_groups, step, breaks), pytest.raises(BrokenOff):
            await growing.migrated()
        await growing.migrated()
        found = await growing.gone_on(len(expected))
        assert [one for one in found if one not in expected and not is_lost(one)] == []
        assert len({*map(window, found)}) == len(found) == len(expected)
        if step != "mark":
            assert sorted(found) == sorted(expected)

    asyncio.run(scenario())
