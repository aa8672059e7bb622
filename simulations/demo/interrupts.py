"""Ctrl-C at any moment: whatever was begun is known before anybody is interrupted."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """What ends the demonstration: a key, a signal, or the end of its terminal."""

    def __init__(self) -> None:
        self._waiting = 0
        self._asked = False
        for number in SIGNALS:
            signal.signal(number, self._ask)

    def _ask(self, _: int, __: FrameType | None) -> None:
        self._asked = True
        if not self._waiting:
            raise KeyboardInterrupt

    @contextmanager
    def later(self) -> Iterator[None]:
        """Nobody is interrupted in here; who asked for it meanwhile is heard at the end."""
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1
        if self._asked and not self._waiting:
            raise KeyboardInterrupt

    def never(self) -> None:
        """From here on it is being cleaned up: that comes to its end."""
        self._waiting += 1
