"""How far a job is, for people at a terminal."""

import time
from collections.abc import Callable
from typing import TextIO

from meteragent.privacy.units import format_duration

_SECONDS_BETWEEN = 0.2
_WIDTH = 24
_ERASE = "\r\x1b[K"


class Progress:
    """One line on standard error that is written over; none if nobody sees it."""

    def __init__(
        self, stream: TextIO, total: int | None, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = stream
        self._shown = stream.isatty()
        self._total = total
        self._now = now
        self._begun = self._last = now()

    def show(self, done: int, readings: int) -> None:
        """`done` bytes of the total, and how many readings they were in this run."""
        now = self._now()
        if not self._shown or now - self._last < _SECONDS_BETWEEN:
            return
        self._last = now
        elapsed = now - self._begun
        rate = f"{readings / elapsed:,.0f} readings/s"
        self._stream.write(f"{_ERASE}{self._bar(done, elapsed)}{rate}")
        self._stream.flush()

    def _bar(self, done: int, elapsed: float) -> str:
        if not self._total or not done:
            return ""
        share = min(1.0, done / self._total)
        left = round(elapsed * (1 - share) / share)
        bar = "#" * round(share * _WIDTH)
        return f"[{bar:<{_WIDTH}}] {share:4.0%}  {format_duration(left * 1000)} left  "

    def clear(self) -> None:
        """Make way for what is said next."""
        if self._shown:
            self._stream.write(_ERASE)
            self._stream.flush()
