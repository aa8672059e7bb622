"""Which window: from when to when it lasts, and how many slots it has."""

from dataclasses import dataclass
from typing import TypeVar

from meteragent.errors import InvalidSetting
from meteragent.privacy.arrays import Integers
from meteragent.privacy.domain import Domain

Some = TypeVar("Some", int, Integers)


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows of one length, equally far apart; times and lengths are in milliseconds.

    Window `w` covers `[start(w), end(w))`: open times are inclusive, close times are exclusive.
    A *hop* is what lies between the starts of two windows, and has the number of the first.
    """

    size: int
    hop: int
    interval: int

    @property
    def slots(self) -> int:
        """Readings per window."""
        return self.size // self.interval

    @property
    def hop_slots(self) -> int:
        """Readings per hop."""
        return self.hop // self.interval

    def slot(self, time: Some) -> Some:
        """Which slot a time is in; slots are counted from the epoch on."""
        return time // self.interval

    def first_slot(self, window: Some) -> Some:
        """The slot that a window begins with."""
        return window * self.hop_slots

    def start(self, window: Some) -> Some:
        """When a window begins."""
        return window * self.hop

    def newest(self, time: Some) -> Some:
        """The last window that a time is in, the number of its hop."""
        return time // self.hop

    def first_open(self, passed: Some) -> Some:
        """The first window that ends after the time `passed`."""
        return (passed - self.size) // self.hop + 1


@dataclass(frozen=True, slots=True)
class Frame:
    """The shape of a policy's windows: times in milliseconds."""

    domain: Domain
    size: int
    hop: int
    interval: int

    def __post_init__(self) -> None:
        for name, value in (("interval", self.interval), ("size", self.size), ("hop", self.hop)):
            if value <= 0 or value % self.interval:
                raise InvalidSetting(
                    name, "must be positive, and whole intervals", f"write {self.interval} ms"
                )

    @property
    def slots(self) -> int:
        """Readings per window."""
        return self.size // self.interval
