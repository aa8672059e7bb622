"""What is asked of an agent by those who show how it is."""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from meteragent.stream.pipeline import Pipeline


class Clocks(NamedTuple):
    """This machine's clock beside the brokers', by which windows close."""

    ahead: float = 0.0
    """By how many seconds, at least, this machine's is ahead; a negative number if it is behind."""
    age: float = 0.0
    """Seconds since the brokers' time was learned."""
    differs: bool = False
    """By more than `agent.max_skew`."""
    trusted: bool = True
    """Whether the clock may close windows."""


class Watched(Protocol):
    """What is asked of an agent."""

    @property
    def ready(self) -> bool:
        """Whether every partition of its is running."""

    @property
    def alive(self) -> bool:
        """Whether it gets on."""

    @property
    def stood_still(self) -> float:
        """For how many seconds it has not."""

    @property
    def fingerprint(self) -> str:
        """Of its noise key."""

    @property
    def clocks(self) -> Clocks:
        """Its machine's and the brokers', as far as it needs them."""

    def pipelines(self) -> Mapping[int, Pipeline]:
        """Partition -> its windows and accounts, of those that run."""

    def lags(self) -> Mapping[int, int]:
        """Partition -> records that are not read yet, as far as known."""

    def blocked(self) -> Mapping[int, tuple[int, float]]:
        """Partition -> those of them that a transaction upstream holds back, for how long."""

    def awaited(self) -> Mapping[int, float]:
        """Partition -> for how many seconds it has waited for a schema."""
