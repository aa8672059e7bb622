"""A disk whose power fails: what was not synced is there, or not, or torn."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

BLOCK = 16
"""Bytes that are written or not, each on its own; small, so that much is torn."""


class PowerLost(BaseException):
    """Nobody catches it, as nobody is there any more."""


class Breaker:
    """Counts down to the loss of power, or never comes to it."""

    def __init__(self) -> None:
        self.left: int | None = None

    def step(self) -> None:
        """Something that power may fail before, or after."""
        if self.left is None:
            return
        self.left -= 1
        if self.left < 0:
            self.left = None
            raise PowerLost


@dataclass
class Inode:
    now: bytes = b""
    synced: bytes = b""


@dataclass
class FragileDisk:
    """Everything is in memory; `lose` is what a loss of power does to it."""

    breaker: Breaker = field(default_factory=Breaker)
    now: dict[str, Inode] = field(default_factory=dict)
    synced: dict[str, Inode] = field(default_factory=dict)
    obeys: bool = True
    """Whether `sync` does what it says; there are disks that lie."""

    def names(self) -> list[str]:
        return [*self.now]

    def read(self, name: str) -> bytes:
        return self.now[name].now

    def open(self, name: str) -> FragileFile:
        self.breaker.step()
        return FragileFile(self, self.now.setdefault(name, Inode()))

    def remove(self, name: str) -> None:
        self.breaker.step()
        del self.now[name]

    def sync_directory(self) -> None:
        self.breaker.step()
        if self.obeys:
            self.synced = dict(self.now)
        self.breaker.step()

    def lose(self, rng: random.Random) -> None:
        """The power fails, and comes back."""
        names = self.now.keys() | self.synced.keys()
        found: dict[str, Inode] = {}
        for name in sorted(names):
            inode = rng.choice([self.now, self.synced]).get(name)
            if inode is not None:
                found[name] = inode
        for inode in found.values():
            inode.now = inode.synced = _survived(inode, rng)
        self.now, self.synced = found, dict(found)


@dataclass
class FragileFile:
    disk: FragileDisk
    inode: Inode

    def append(self, data: bytes) -> None:
        self.disk.breaker.step()
        self.inode.now += data
        self.disk.breaker.step()

    def cut(self, size: int) -> None:
        self.disk.breaker.step()
        self.inode.now = self.inode.now[:size]

    def sync(self) -> None:
        self.disk.breaker.step()
        if self.disk.obeys:
            self.inode.synced = self.inode.now
        self.disk.breaker.step()

    def close(self) -> None:
        """Nothing is lost by this, and nothing synced."""


def _survived(inode: Inode, rng: random.Random) -> bytes:
    """What is left of a file: all that was synced, and of the rest some blocks."""
    if not inode.now.startswith(inode.synced):  # it was cut, and that was not synced
        return rng.choice([inode.now, inode.synced])
    rest = inode.now[len(inode.synced) :]
    rest = rest[: rng.choice([0, len(rest), rng.randint(0, len(rest))])]
    blocks = [rest[at : at + BLOCK] for at in range(0, len(rest), BLOCK)]
    holes = rng.random() < 0.5
    kept = (bytes(len(one)) if holes and rng.random() < 0.3 else one for one in blocks)
    return inode.synced + b"".join(kept)
