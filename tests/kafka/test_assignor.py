"""Partitions are dealt out fairly, by everybody in the same way, and mostly stay where they are."""

from hypothesis import given
from hypothesis import strategies as st

from meteragent.kafka.assignor import shares

members = st.sets(st.text("abcdef0123456789", min_size=4, max_size=12), min_size=1, max_size=12)
partitions = st.integers(0, 60).map(range)


@given(members, partitions)
def test_every_partition_has_one_owner_and_shares_are_equal(some: set[str], there: range) -> None:
    dealt = shares(some, there)
    assert dealt.keys() == some
    assert sorted(p for share in dealt.values() for p in share) == list(there)
    sizes = [len(share) for share in dealt.values()]
    assert max(sizes) - min(sizes) <= 1


@given(members, partitions)
def test_shares_depend_on_no_order(some: set[str], there: range) -> None:
    assert shares(sorted(some), there) == shares(sorted(some, reverse=True), reversed(there))


def test_few_partitions_move_when_an_instance_comes_or_goes() -> None:
    there = range(60)
    moved = []
    for seed in range(50):
        some = [f"meteragent-{seed}-{number}" for number in range(6)]
        with_all, without_last = shares(some, there), shares(some[:-1], there)
        stayed = sum(len({*with_all[m]} & {*without_last[m]}) for m in some[:-1])
        moved.append(60 - stayed)
    # Ten must move, for a sixth of all belongs to the one; equal shares cost a few more.
    assert min(moved) >= 10
    assert sum(moved) / len(moved) < 16
