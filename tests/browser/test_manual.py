"""The manual's site and the report in a real browser: nothing cut, nothing that axe finds."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from simulations.kit.command import RESULTS
from simulations.report.__main__ import results
from simulations.report.page import page
from tests.browser.chromium import Tab, chromium
from tests.browser.test_page import AXE, DESKTOP, PHONE

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "out" / "manual" / "site"
LOOKED_AT = (
    "index.html",
    "deploy/guide/tutorial-kafka.html",
    "deploy/guide/promise.html",
    "deploy/operations.html",
    "deploy/reference/metrics.html",
)
SIZES = pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
SCHEMES = pytest.mark.parametrize("scheme", ["light", "dark"])
CUT = """[...document.querySelectorAll('td, th, h1, h2, h3, p, figcaption')].filter(e =>
  e.checkVisibility() && e.scrollWidth > e.clientWidth + 8 &&
  getComputedStyle(e).display !== 'inline').map(e => e.textContent.slice(0, 60))"""
"""Text that is wider than what holds it, by more than the edge of a word in code."""


async def opened(tab: Tab, path: Path) -> None:
    await tab.go(path.as_uri())
    await tab.until("document.readyState === 'complete'")


async def nothing_found(tab: Tab, width: int) -> None:
    """Of a phone `innerWidth` grows with what does not fit, so it is no measure."""
    await tab.evaluate(AXE.read_text(encoding="utf-8") + ";0")
    found = json.loads(
        await tab.evaluate("axe.run().then(found => JSON.stringify(found.violations))")
    )
    short = [
        (one["id"], one["impact"], [n["html"][:160] for n in one["nodes"][:3]]) for one in found
    ]
    assert short == []
    assert await tab.evaluate("document.documentElement.scrollWidth") <= width
    assert await tab.evaluate(CUT) == []


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(page(results(RESULTS), RESULTS), "utf-8")
    return path


@pytest.fixture(scope="module")
def site() -> Path:
    """As `deploy/manual/build` makes it."""
    done = subprocess.run(  # noqa: S603 - our own command
        [ROOT / "deploy" / "manual" / "build"],
        env={"PATH": "/usr/bin:/bin", "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return SITE


@SIZES
@SCHEMES
def test_the_report_is_open_to_everybody(
    report: Path, tmp_path: Path, size: tuple[int, int], scheme: str
) -> None:
    async def scenario() -> None:
        async with chromium(tmp_path / "profile") as browser:
            tab = await browser.tab(*size, scheme)
            await opened(tab, report)
            await nothing_found(tab, size[0])
            assert tab.requests[0] == report.as_uri()
            assert {url.partition(":")[0] for url in tab.requests[1:]} <= {"data"}

    asyncio.run(scenario())


@pytest.mark.slow
@SIZES
@SCHEMES
def test_the_manual_is_open_to_everybody(
    site: Path, tmp_path: Path, size: tuple[int, int], scheme: str
) -> None:
    async def scenario() -> None:
        async with chromium(tmp_path / "profile") as browser:
            for name in LOOKED_AT:
                tab = await browser.tab(*size, scheme)
                await opened(tab, site / name)
                await nothing_found(tab, size[0])
                assert {url.partition(":")[0] for url in tab.requests} <= {"data", "file"}

    asyncio.run(scenario())
