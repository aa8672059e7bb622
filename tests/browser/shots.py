"""Manual and report as people meet them: `python -m tests.browser.shots FOLDER`.

A sheet of each: at a desk and on a phone, light and dark. The manual is what `deploy/manual/build`
made last; the status page has a picture of its own (`tests.browser.picture`).
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from io import BytesIO
from pathlib import Path

from PIL import Image

from simulations.kit.command import RESULTS
from simulations.report.__main__ import results
from simulations.report.page import page
from tests.browser.chromium import chromium
from tests.browser.test_manual import SITE, opened
from tests.browser.test_page import DESKTOP, PHONE

WIDTHS, HEIGHT, GAP = {DESKTOP: 640, PHONE: 280}, 620, 12
LARGEST = 200_000
COLOURS = 96
SHOTS = tuple((size, scheme) for scheme in ("light", "dark") for size in (DESKTOP, PHONE))


async def seen(path: Path) -> list[Image.Image]:
    """The first screens of a page, in the order of SHOTS."""
    taken = []
    for size, scheme in SHOTS:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:  # forgets the last
            async with chromium(Path(profile)) as browser:
                tab = await browser.tab(*size, scheme)
                await opened(tab, path)
                whole = Image.open(BytesIO(await tab.picture())).convert("RGB")
        width = WIDTHS[size]
        taken.append(whole.resize((width, width * whole.height // whole.width)))
    return taken


def sheet(taken: list[Image.Image]) -> Image.Image:
    """Light above, dark below; cut off where pages go on."""
    width = sum(WIDTHS.values()) + GAP
    drawn = Image.new("RGB", (width, 2 * HEIGHT + GAP), "grey")
    for at, picture in enumerate(taken):
        across = at % 2 * (WIDTHS[DESKTOP] + GAP)
        down = at // 2 * (HEIGHT + GAP)
        drawn.paste(picture.crop((0, 0, picture.width, HEIGHT)), (across, down))
    return drawn


def main() -> None:
    """Both sheets, into a folder."""
    folder = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as made:
        report = Path(made) / "report.html"
        report.write_text(page(results(RESULTS), RESULTS), "utf-8")
        pages = {"manual": SITE / "deploy" / "guide" / "tutorial-kafka.html", "report": report}
        for name, path in pages.items():
            file = folder / f"{name}.png"
            sheet(asyncio.run(seen(path))).quantize(COLOURS).save(file, optimize=True)
            print(f"{file}: {file.stat().st_size:,} bytes")  # noqa: T201 - a command prints


if __name__ == "__main__":
    main()
