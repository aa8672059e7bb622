"""The live table: one line that is written over at a terminal, a line every now and then else."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TextIO

HEADINGS = ("clock", "readings", "per second", "releases", "withheld", "budget spent", "lag")
WIDTHS = (5, 11, 10, 9, 9, 13, 7)
_AT_A_TERMINAL, _ELSEWHERE = 0.2, 2.0


@dataclass(slots=True)
class Counts:
    """How far it is."""

    moment: int = 0
    """Of the replayed day, in milliseconds since the epoch."""
    readings: int = 0
    released: int = 0
    withheld: int = 0
    spent: float = 0.0
    """The share of a day's budget that homes have spent, on average."""
    lag: int | None = None


class Table:
    """Shows counts as they grow."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._terminal = stream.isatty()
        self._begun = time.monotonic()
        self._next = self._begun
        self._line(HEADINGS, "\n")

    def show(self, counts: Counts, *, last: bool = False) -> None:
        """Show them, unless that was done a moment ago."""
        now = time.monotonic()
        if now < self._next and not last:
            return
        self._next = now + (_AT_A_TERMINAL if self._terminal else _ELSEWHERE)
        rate = counts.readings / max(now - self._begun, 0.001)
        cells = (
            f"{datetime.fromtimestamp(counts.moment / 1000, UTC):%H:%M}",
            f"{counts.readings:,}",
            f"{rate:,.0f}",
            f"{counts.released:,}",
            f"{counts.withheld:,}",
            f"{counts.spent:.0%}",
            "-" if counts.lag is None else f"{counts.lag:,}",
        )
        self._line(cells, "\n" if last or not self._terminal else "")

    def _line(self, cells: tuple[str, ...], end: str) -> None:
        text = "  ".join(cell.rjust(width) for cell, width in zip(cells, WIDTHS, strict=True))
        start = "\r\x1b[K" if self._terminal else ""
        self._stream.write(f"{start}  {text}{end}")
        self._stream.flush()
