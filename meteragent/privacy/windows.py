"""Which window: from when to when it lasts, and how many slots it has."""

from dataclasses import dataclass

from meteragent.errors import InvalidSetting
from meteragent.privacy.domain import Domain


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
