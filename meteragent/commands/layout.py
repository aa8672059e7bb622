"""Text for a terminal: no wider than it, and readable where it is narrow."""

import shutil
from collections.abc import Iterable, Sequence
from textwrap import wrap

NARROWEST, WIDEST = 40, 100
GAP = "  "

Row = Sequence[str]


def columns() -> int:
    """How wide a text is to be."""
    return min(max(shutil.get_terminal_size().columns, NARROWEST), WIDEST)


def table(rows: Iterable[Row], width: int) -> list[str]:
    """Columns where they fit, the first to the left; else a paragraph for each row."""
    header, *body = rows
    widths = [max(map(len, column)) for column in zip(header, *body, strict=True)]
    if sum(widths) + len(GAP) * (len(widths) - 1) <= width:
        return [_line(row, widths) for row in (header, *body)]
    return [
        line
        for name, *cells in body
        for line in wrap(
            f"{name}: {', '.join(f'{h} {c}' for h, c in zip(header[1:], cells, strict=True))}",
            width,
            subsequent_indent=GAP,
        )
    ]


def _line(row: Row, widths: list[int]) -> str:
    first, *others = (
        cell.rjust(size) if number else cell.ljust(size)
        for number, (cell, size) in enumerate(zip(row, widths, strict=True))
    )
    return GAP.join((first, *others)).rstrip()
