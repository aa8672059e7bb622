"""The status page at a desk and on a phone, by day and by night.

`python -m tests.browser.picture FILE`
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from io import BytesIO
from pathlib import Path

from PIL import Image
from structlog.testing import capture_logs

from tests.browser.test_page import DESKTOP, PHONE, busy, of, showing

HEIGHT = 800
WIDTHS = {DESKTOP: 800, PHONE: 340}
GAP = 20


def seen(size: tuple[int, int], scheme: str) -> Image.Image:
    """The page as it looks there."""
    status = of(busy())

    async def shot() -> bytes:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
            async with showing(status, Path(profile), size, scheme) as (tab, _, _):
                return await tab.picture()

    picture = Image.open(BytesIO(asyncio.run(shot()))).convert("RGB")
    return picture.resize((WIDTHS[size], WIDTHS[size] * picture.height // picture.width))


def main() -> None:
    """Light above, dark below; desk and phone beside each other, cut off where they go on."""
    sheet = Image.new("RGB", (sum(WIDTHS.values()) + GAP, 2 * HEIGHT + GAP), "grey")
    for row, scheme in enumerate(("light", "dark")):
        across = 0
        for size, width in WIDTHS.items():
            with capture_logs():
                picture = seen(size, scheme)
            shown = picture.crop((0, 0, width, min(picture.height, HEIGHT)))
            sheet.paste(shown, (across, row * (HEIGHT + GAP)))
            across += width + GAP
    sheet.quantize(96).save(sys.argv[1], optimize=True)


if __name__ == "__main__":
    main()
