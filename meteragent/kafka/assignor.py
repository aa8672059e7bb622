"""Who gets which partition: equal shares, and few of them move when an instance comes or goes.

A partition that comes back to the instance that had it goes on where it stood (`worker`); one
that moves is restored, and the records of its open windows are read again. So it matters that
most come back. Every pair of an instance and a partition has a hash, and the highest win, as
far as shares allow: no memory is needed for the same pairs to win again.
"""

from collections.abc import Iterable, Mapping
from hashlib import blake2b

from aiokafka.cluster import ClusterMetadata
from aiokafka.coordinator.assignors.abstract import AbstractPartitionAssignor
from aiokafka.coordinator.protocol import (
    ConsumerProtocolMemberAssignment,
    ConsumerProtocolMemberMetadata,
)

HASH_BYTES = 8


class SteadyAssignor(AbstractPartitionAssignor):  # type: ignore[misc]
    """Deals the partitions of each topic out among those who subscribe to it."""

    name = "meteragent"
    version = 0

    @classmethod
    def assign(
        cls, cluster: ClusterMetadata, members: Mapping[str, ConsumerProtocolMemberMetadata]
    ) -> dict[str, ConsumerProtocolMemberAssignment]:
        """Each member's partitions."""
        dealt: dict[str, list[tuple[str, list[int]]]] = {member: [] for member in members}
        for topic in sorted({t for metadata in members.values() for t in metadata.subscription}):
            subscribed = [m for m, metadata in members.items() if topic in metadata.subscription]
            partitions = cluster.partitions_for_topic(topic) or ()
            for member, some in shares(subscribed, partitions).items():
                dealt[member].append((topic, some))
        return {
            member: ConsumerProtocolMemberAssignment(cls.version, some, b"")
            for member, some in dealt.items()
        }

    @classmethod
    def metadata(cls, topics: Iterable[str]) -> ConsumerProtocolMemberMetadata:
        """What a member tells of itself."""
        return ConsumerProtocolMemberMetadata(cls.version, list(topics), b"")

    @classmethod
    def on_assignment(cls, assignment: ConsumerProtocolMemberAssignment) -> None:
        """Nothing needs to be remembered."""


def shares(members: Iterable[str], partitions: Iterable[int]) -> dict[str, list[int]]:
    """Each member's partitions; the sizes of two shares differ by at most one."""
    left = set(partitions)
    dealt: dict[str, list[int]] = {member: [] for member in members}
    ranked = sorted(
        ((_hash(member, partition), member, partition) for member in dealt for partition in left),
        reverse=True,
    )
    fair = len(left) // max(1, len(dealt))
    for most in (fair, fair + 1):
        for _, member, partition in ranked:
            if partition in left and len(dealt[member]) < most:
                dealt[member].append(partition)
                left.discard(partition)
    return {member: sorted(some) for member, some in dealt.items()}


def _hash(member: str, partition: int) -> bytes:
    return blake2b(f"{partition}/{member}".encode(), digest_size=HASH_BYTES).digest()
