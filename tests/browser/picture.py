"""The status page on a desk and on a phone: `python -m tests.browser.picture FILE`."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from io import BytesIO
from pathlib import Path

from PIL import Image
from structlog.testing import capture_logs

from tests.browser.test_page import DESKTOP, PHONE, busy, of, showing

HEIGHT = 1000
WIDTHS = {DESKTOP: 960, PHONE: 400}
GAP = 24


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
    """Both beside each other, cut off where it goes on."""
    with capture_logs():
        desk, phone = seen(DESKTOP, "light"), seen(PHONE, "dark")
    sheet = Image.new("RGB", (desk.width + GAP + phone.width, HEIGHT), "white")
    sheet.paste(desk, (0, 0))
    sheet.paste(phone, (desk.width + GAP, 0))
    sheet.quantize(128).save(sys.argv[1], optimize=True)


if __name__ == "__main__":
    main()
