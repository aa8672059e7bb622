"""In which partition a meter's records come: how Kafka's clients choose it for a key.

A meter has one account, in the partition where its readings are. If they came in two, it would
have two, and each would be spent. So every meter has one home, which follows from its id alone,
and elsewhere its readings are not taken.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from zlib import crc32

_WORD = 0xFFFFFFFF
_POSITIVE = 0x7FFFFFFF


def murmur2(key: bytes) -> int:
    """As Java's client hashes, and all that follow it."""
    mixer = 0x5BD1E995
    hashed = 0x9747B28C ^ len(key)
    whole = len(key) & ~3
    for at in range(0, whole, 4):
        word = int.from_bytes(key[at : at + 4], "little") * mixer & _WORD
        word = (word ^ word >> 24) * mixer & _WORD
        hashed = hashed * mixer & _WORD ^ word
    if rest := key[whole:]:
        hashed = (hashed ^ int.from_bytes(rest, "little")) * mixer & _WORD
    hashed = (hashed ^ hashed >> 13) * mixer & _WORD
    return (hashed ^ hashed >> 15) & _POSITIVE


def fnv1a(key: bytes) -> int:
    """As Sarama hashes, the older client of Go: the absolute value of a signed number."""
    hashed = 0x811C9DC5
    for byte in key:
        hashed = (hashed ^ byte) * 0x01000193 & _WORD
    return min(hashed, 2**32 - hashed)


PARTITIONERS: dict[str, Callable[[bytes], int]] = {
    "murmur2": murmur2,
    "crc32": crc32,
    "fnv1a": fnv1a,
}
"""What senders make of a key; the remainder by the number of partitions is the one it goes to."""


@dataclass(frozen=True, slots=True)
class Homes:
    """Where meters are at home among so many partitions."""

    partitioner: str
    partitions: int

    def of(self, meter: str) -> int:
        """The partition that senders choose for a meter."""
        return PARTITIONERS[self.partitioner](meter.encode()) % self.partitions

    def astray(self, meters: Iterable[str], partition: int) -> list[str]:
        """Those that are not at home in this partition."""
        return [meter for meter in meters if self.of(meter) != partition]


def fitting(meters: list[str], partition: int, partitions: int) -> str | None:
    """Which partitioner has all these meters at home in this partition, if one has."""
    ways = (way for way in PARTITIONERS if not Homes(way, partitions).astray(meters, partition))
    return next(ways, None)
