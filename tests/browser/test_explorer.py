"""The explorer in a real browser: every number is that of `explain`, and nothing is fetched."""

from __future__ import annotations

import asyncio
import json
import random
from typing import TYPE_CHECKING, Any

import pytest

from meteragent.commands.explore import page
from meteragent.commands.explored import explored
from meteragent.config.nearby import Nearby
from meteragent.config.policy import PolicySettings
from meteragent.config.watch import Http
from tests.browser.chromium import Tab, chromium
from tests.browser.test_page import AXE, DESKTOP, PHONE, busy, of, showing
from tests.commands.explorers import HOMES, expected, few

if TYPE_CHECKING:
    from pathlib import Path

READ = """(() => {
  const text = (id) => document.getElementById(id).textContent;
  const rows = (id) => [...document.getElementById(id).rows].map((row) =>
    [...row.cells].map((cell) => cell.firstChild.textContent));
  return JSON.stringify({
    toml: text("toml"), words: text("words"), bounds: [0, 1, 2].map((n) => text(`bound-${n}`)),
    answers: rows("answers"), loads: rows("loads"), verdict: text("verdict"),
    warnings: [...document.querySelectorAll("#warnings li")].map((e) => e.textContent),
  });
})()"""


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    few(monkeypatch)
    own = PolicySettings.model_validate({"name": "tv-content", "preset": "tv-content"})
    nearby = Nearby({"name": "tv-content", "preset": "tv-content"}, own)
    path = tmp_path / "explorer.html"
    path.write_text(page(explored(nearby, lambda _: None)), "utf-8")
    return path


async def opened(tab: Tab, path: Path) -> None:
    await tab.go(path.as_uri())
    await tab.until(
        "document.readyState === 'complete' && document.querySelector('#toml')?.textContent"
    )


async def slid(tab: Tab, slider: str, value: int) -> None:
    await tab.evaluate(
        f"(() => {{ const s = document.getElementById('{slider}'); s.value = {value};"
        " s.dispatchEvent(new Event('input')); })()"
    )


def test_every_number_on_the_page_is_that_of_explain(written: Path, tmp_path: Path) -> None:
    """At drawn places; what is expected is worked out from the page's own TOML."""
    drawn = random.Random(20)

    async def scenario() -> None:
        async with chromium(tmp_path / "profile") as browser:
            tab = await browser.tab(*DESKTOP)
            await opened(tab, written)
            places = set()
            for _ in range(6):
                at = {
                    name: drawn.randrange(2) for name in ("window", "radius", "epsilon", "queries")
                }
                homes = drawn.randrange(len(HOMES))
                for slider, value in {**at, "homes": homes}.items():
                    await slid(tab, slider, value)
                found: dict[str, Any] = json.loads(await tab.evaluate(READ))
                told = expected(found["toml"])
                places.add(found["toml"])
                assert found["words"] == told["words"]
                assert found["bounds"] == told["bounds"]
                assert found["warnings"] == told["warnings"]
                assert found["loads"] == told["loads"]
                rows = zip(told["answers"], told["homes"], told["group"], strict=True)
                assert found["answers"] == [
                    [*row, means[homes], group[homes] if homes else "–"]
                    for row, means, group in rows
                ]
                spoken = found["verdict"].replace("\u00a0", " ")
                assert told["loads"][0][1] in spoken
                assert told["answers"][0][1] in spoken
            assert len(places) > 2
            assert tab.complaints == []

    asyncio.run(scenario())


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_it_is_quiet_needs_no_network_and_is_open_to_everybody(
    written: Path, tmp_path: Path, size: tuple[int, int], scheme: str
) -> None:
    async def scenario() -> None:
        async with chromium(tmp_path / "profile") as browser:
            tab = await browser.tab(*size, scheme)
            await opened(tab, written)
            assert tab.requests == [written.as_uri()]
            await tab.evaluate(AXE.read_text(encoding="utf-8") + ";0")
            found = json.loads(
                await tab.evaluate("axe.run().then(found => JSON.stringify(found.violations))")
            )
            assert found == [], json.dumps(found, indent=1)
            assert await tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
            cells = "[...document.querySelectorAll('td, th')]"
            assert await tab.evaluate(f"{cells}.every(e => e.scrollWidth <= e.clientWidth)")
            assert tab.complaints == []

    asyncio.run(scenario())


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_the_status_page_leads_to_it_and_it_works_there(
    written: Path, tmp_path: Path, size: tuple[int, int]
) -> None:
    """Under the policy of the server as well as under its own; from one origin, all of it."""
    stage = busy()
    stage.settings = stage.settings.model_copy(update={"http": Http(explorer_file=written)})

    async def scenario() -> None:
        async with showing(of(stage), tmp_path / "profile", size) as (tab, address, _):
            await tab.evaluate("document.querySelector('footer a[href=explorer]').click()")
            await tab.until(
                "location.pathname === '/explorer' && document.readyState === 'complete'"
            )
            before = json.loads(await tab.evaluate(READ))
            await slid(tab, "window", 0)
            assert json.loads(await tab.evaluate(READ))["answers"] != before["answers"]
            assert await tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
            assert await tab.evaluate("getComputedStyle(document.body).maxWidth") != "none"
            assert tab.complaints == []
            assert {url.rpartition("/")[0] for url in tab.requests} == {address}

    asyncio.run(scenario())


def test_it_is_moved_by_the_keyboard(written: Path, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with chromium(tmp_path / "profile") as browser:
            tab = await browser.tab(*DESKTOP)
            await opened(tab, written)
            before = json.loads(await tab.evaluate(READ))
            await tab.evaluate("document.getElementById('queries').focus()")
            for kind in ("keyDown", "keyUp"):
                await tab.call(
                    "Input.dispatchKeyEvent",
                    type=kind,
                    key="ArrowRight",
                    code="ArrowRight",
                    windowsVirtualKeyCode=39,
                )
            after = json.loads(await tab.evaluate(READ))
            assert [row[0] for row in before["answers"]] == ["avg"]
            assert [row[0] for row in after["answers"]] == ["avg", "max"]
            spoken = "document.getElementById('queries').getAttribute('aria-valuetext')"
            assert await tab.evaluate(spoken) == "avg and max"
            picture = "document.getElementById('picture').getAttribute('aria-label')"
            first = await tab.evaluate(picture)
            await tab.evaluate("document.getElementById('again').click()")
            assert await tab.evaluate(picture) != first

    asyncio.run(scenario())
