"""Drawn pages as PNGs, alone and beside each other."""

from collections.abc import Sequence
from io import BytesIO

from matplotlib.figure import Figure
from PIL import Image

DESK_WIDTH, PHONE_WIDTH, BETWEEN = 760, 280, 12
"""Pixels of what all looks are shown together on."""


def png(figure: Figure) -> bytes:
    """One page."""
    drawn = BytesIO()
    figure.savefig(drawn, dpi=100)
    return _small(Image.open(drawn), 96)


def _small(picture: Image.Image, colours: int) -> bytes:
    """A page of charts has few colours."""
    small = BytesIO()
    picture.convert("RGB").quantize(colours).save(small, "png", optimize=True)
    return small.getvalue()


def sheet(desks: Sequence[bytes], phones: Sequence[bytes]) -> bytes:
    """Desks below each other, phones beside them, cut off where they go on."""
    left = [_narrowed(one, DESK_WIDTH) for one in desks]
    right = [_narrowed(one, PHONE_WIDTH) for one in phones]
    width = DESK_WIDTH + len(right) * (BETWEEN + PHONE_WIDTH)
    height = sum(one.height + BETWEEN for one in left) - BETWEEN
    drawn, down = Image.new("RGB", (width, height), "grey"), 0
    for one in left:
        drawn.paste(one, (0, down))
        down += one.height + BETWEEN
    for nth, one in enumerate(right):
        across = DESK_WIDTH + BETWEEN + nth * (PHONE_WIDTH + BETWEEN)
        drawn.paste(one.crop((0, 0, PHONE_WIDTH, min(one.height, height))), (across, 0))
    return _small(drawn, 224)


def _narrowed(one: bytes, width: int) -> Image.Image:
    whole = Image.open(BytesIO(one)).convert("RGB")
    return whole.resize((width, width * whole.height // whole.width))
