"""The status page in a real browser: desktop and phone, light and dark."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from meteragent.watch.events import PartitionFailed
from meteragent.watch.status import Status
from meteragent.watch.web import serving
from tests.browser.chromium import Tab, chromium
from tests.watch import street
from tests.watch.stage import BEGIN, GAS, MINUTE, Stage, block, config

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from meteragent.config import Config

AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
DESKTOP, PHONE = (1200, 900), (390, 844)
SERIOUS = {"serious", "critical"}
RUNNING = "document.getElementById('state').dataset.word === 'running'"


def busy() -> Stage:
    """An agent with something in every part of the page."""
    stage = Stage(config(), partitions=3)
    for minute in range(12):
        stage.now = (BEGIN + (minute + 1) * MINUTE) / 1000
        for partition in range(3):
            meters = [f"m-{partition}-{n}" for n in range(9) if (minute + n) % (n + 1) < 3]
            records = [block(meter, minute, [100] * 6) for meter in meters]
            stage.read(partition, [*records, block(f"f-{partition}", minute, [1] * 6), b"?"])
            stage.commit(partition)
    stage.monitor.tell(PartitionFailed(2, TimeoutError(), 1))
    stage.behind = {0: 0, 1: 1234, 2: 7}
    return stage


def of(stage: Stage) -> Status:
    return Status(stage.settings, stage.monitor, stage, wall=lambda: stage.now)


@asynccontextmanager
async def showing(
    status: Status, profile: Path, size: tuple[int, int], scheme: str = "light"
) -> AsyncIterator[tuple[Tab, str, AsyncExitStack]]:
    """The page of a stage in a tab, its address, and what ends the server."""
    http = config().http.model_copy(update={"port": 0})
    pages = status.pages()
    async with chromium(profile) as browser, AsyncExitStack() as server:
        address = await server.enter_async_context(serving(http, pages))
        tab = await browser.tab(*size, scheme)
        await tab.go(f"{address}/")
        await tab.until(f"document.readyState === 'complete' && {RUNNING}")
        yield tab, address, server


@pytest.mark.parametrize(
    "pages",
    [
        pytest.param(lambda: of(busy()), id="meters"),
        pytest.param(lambda: street.busy()[2], id="groups"),
    ],
)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_the_page_is_quiet_self_contained_and_open_to_everybody(
    tmp_path: Path, pages: Callable[[], Status], size: tuple[int, int], scheme: str
) -> None:
    status = pages()

    async def scenario() -> None:
        async with showing(status, tmp_path, size, scheme) as (tab, address, _):
            await tab.evaluate(AXE.read_text(encoding="utf-8") + ";0")
            found = json.loads(
                await tab.evaluate("axe.run().then(found => JSON.stringify(found.violations))")
            )
            serious = [f for f in found if f["impact"] in SERIOUS]
            assert not serious, json.dumps(serious, indent=1)
            assert await tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
            tables = "[...document.querySelectorAll('.scroll')]"
            cut = f"{tables}.filter(e => e.scrollWidth > e.clientWidth).map(e => e.ariaLabel)"
            assert await tab.evaluate(cut) == []
            assert await tab.evaluate(f"matchMedia('(prefers-color-scheme: {scheme})').matches")
            assert tab.complaints == []
            assert {url.rpartition("/")[0] for url in tab.requests} == {address}

    asyncio.run(scenario())


def test_live_numbers_change_by_themselves(tmp_path: Path) -> None:
    stage = busy()

    async def scenario() -> None:
        async with showing(of(stage), tmp_path, DESKTOP) as (tab, _, _server):
            numbers = (
                "['records', 'meters', 'lag'].map(id => document.getElementById(id).textContent)"
            )
            before = await tab.evaluate(numbers)
            await tab.evaluate("document.querySelector('.scroll').focus()")
            stage.behind[0] = 99
            stage.now += MINUTE / 1000
            records = [block(f"new-{n}", 12, [100] * 6) for n in range(400)]
            await asyncio.to_thread(stage.read, 0, records)
            await asyncio.to_thread(stage.commit, 0)
            old = json.dumps(before)
            await tab.until(f"{numbers}.every((text, at) => text !== {old}[at])")
            assert await tab.evaluate("document.activeElement.className") == "scroll"
            assert tab.complaints == []

    asyncio.run(scenario())


SHARED = """
[budget]
amount = "10"
radius = "100W"
horizon = "24h"
[[policy]]
name = "day"
preset = "tv-content"
share = "4"
[[policy]]
name = "minutes"
window = "1m"
interval = "10s"
grace = "10s"
idle = "1m"
maximum = "24kW"
epsilon = "0.05"
radius = "100W"
share = "6"
"""


def test_what_is_late_shares_a_slot_or_is_silent_is_said(tmp_path: Path) -> None:
    """Beside preset, account, and what each meter has spent: never the sum over meters."""
    stage = Stage(config(SHARED), partitions=1)
    for minute in range(4):
        stage.now = (BEGIN + (minute + 1) * MINUTE) / 1000
        blocks = [block(f"m-{n}", minute, [100] * 6) for n in range(300)]
        stage.read(0, [*blocks, *blocks[:3], block("m-0", minute - 3, [100] * 6)])
        stage.commit(0)
    stage.now += 1300

    async def scenario() -> None:
        async with showing(of(stage), tmp_path, PHONE) as (tab, _, _server):
            said = {
                name: await tab.evaluate(f"document.getElementById('{name}').innerText")
                for name in ("late", "shared", "silent")
            }
            assert re.match(r"\d+ readings came late within the last hour, after", said["late"])
            assert re.match(r"\d+ readings shared a slot with another one", said["shared"])
            assert said["silent"] == "No reading has arrived for 21 min."
            about = "[...document.querySelectorAll('.policy .about')].map(e => e.innerText)"
            first, second = await tab.evaluate(about)
            assert first == "Preset tv-content. Each meter has one account for this and minutes."
            assert second == "Each meter has one account for this and day."
            spent = "[...document.querySelectorAll('[data-is=spent-words]')].map(e => e.innerText)"
            _, minutes = await tab.evaluate(spent)
            assert minutes.startswith("by each meter on average: 0.15 epsilon in an hour")

    asyncio.run(scenario())


def test_an_agent_that_does_not_answer_is_not_shown_as_running(tmp_path: Path) -> None:
    stage = busy()

    async def scenario() -> None:
        async with showing(of(stage), tmp_path, DESKTOP) as (tab, _, server):
            await server.aclose()
            await tab.until("document.getElementById('state').dataset.word === 'gone'")
            said = await tab.evaluate("document.getElementById('state').textContent")
            assert said.startswith("The agent has not answered since")

    asyncio.run(scenario())


def test_a_script_that_is_not_the_pages_own_does_not_run(tmp_path: Path) -> None:
    inject = (
        "document.body.append(Object.assign(document.createElement('script'),"
        " {textContent: 'window.foreign = true'})); window.foreign === undefined"
    )

    stage = busy()

    async def scenario() -> None:
        async with showing(of(stage), tmp_path, DESKTOP) as (tab, _, _server):
            assert await tab.evaluate(inject)
            assert "Content Security Policy" in tab.complaints[0]

    asyncio.run(scenario())


def test_everything_that_moves_is_said_in_words_too(tmp_path: Path) -> None:
    """For those who hear the page: one polite voice, charts with a text, tables with heads."""

    stage = busy()

    async def scenario() -> None:
        async with showing(of(stage), tmp_path, DESKTOP) as (tab, _, _server):
            live = "[...document.querySelectorAll('[aria-live]')].map(e => e.id + e.ariaLive)"
            assert await tab.evaluate(live) == ["statepolite"]
            charts = await tab.evaluate(
                "[...document.querySelectorAll('svg')].map(e => e.getAttribute('aria-label'))"
            )
            assert len(charts) == 4
            assert charts[1].startswith("Meters by budget left: 0 to 10 %: ")
            heads = await tab.evaluate(
                "[...document.querySelectorAll('tbody tr')].every("
                "row => row.cells[0].tagName === 'TH' && row.cells[0].scope === 'row')"
            )
            assert heads

    asyncio.run(scenario())


def test_groups_are_shown_with_whom_they_wait_for(tmp_path: Path) -> None:
    neighbours, _, status = street.busy()

    async def scenario() -> None:
        async with showing(status, tmp_path, DESKTOP) as (tab, _, _server):
            said = "document.getElementById('groups-part').innerText"
            text = await tab.evaluate(said)
            for sentence in (
                "feeders: 4 groups, decided until 2025-11-18 01:00 UTC. 2 panes wait for partition",
                "12 memberships take effect. 1 begin later than asked. Refused: 2",
                "Partial sums refused: 1 late partial.",
                "too few homes",
            ):
                assert sentence in text
            await asyncio.to_thread(neighbours.tell, 1, 4, {})
            await asyncio.to_thread(neighbours.tell, 1, 5, {})
            await tab.until(f"{said}.includes('feeders: 4 groups, decided until 2025-11-18 01:30')")
            assert "wait for partition" not in await tab.evaluate(said)
            assert tab.complaints == []

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("settings", "unit"), [(config(), "W"), (config(GAS), "l/h")], ids=["power", "gas"]
)
def test_errors_are_said_in_the_unit_of_the_policy(
    tmp_path: Path, settings: Config, unit: str
) -> None:
    async def scenario() -> None:
        async with showing(of(Stage(settings)), tmp_path, DESKTOP) as (tab, _, _server):
            answers = "[...document.querySelectorAll('[data-is=answers] tr')].map(e => e.innerText)"
            for row in await tab.evaluate(answers):
                assert len(re.findall(rf"\s[0-9.,]+ {unit}(?=\s)", row)) == 2, row

    asyncio.run(scenario())


def test_where_there_are_no_groups_the_page_says_nothing_of_them(tmp_path: Path) -> None:
    status = of(busy())

    async def scenario() -> None:
        async with showing(status, tmp_path, DESKTOP) as (tab, _, _server):
            assert await tab.evaluate("document.getElementById('groups-part').hidden")

    asyncio.run(scenario())
