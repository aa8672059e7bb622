"""Whose a ledger is, and which of two configurations is newer: judged without a broker."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meteragent.config import Config, from_document
from meteragent.errors import (
    LedgerDamaged,
    LedgerLost,
    LedgerMoving,
    LedgerOfAnother,
    MeterAgentError,
    Superseded,
    TopicsUnfit,
)
from meteragent.kafka.owner import MOST_SUPERSEDED, OWNER, Bond, Layout, Owner, bond, digest
from meteragent.kafka.ownership import Ownership, owner_of
from meteragent.kafka.restore import Kept
from tests.given import KEY

if TYPE_CHECKING:
    from collections.abc import Callable

PARTITIONS = 2


def config(budget: int = 1, **kafka: Any) -> Config:  # noqa: ANN401 - whatever may be set
    policy = {
        "name": "all",
        "window": "1m",
        "interval": "10s",
        "maximum": "1kW",
        "epsilon": "1",
        "budget": str(budget),
    }
    return from_document({"kafka": kafka, "policy": [policy]}, Path(), {})


def kept(owner: Owner | None, end: int = 9) -> Kept:
    return Kept({}, {} if owner is None else {OWNER: owner.record()}, [], end)


def taken(
    ownership: Ownership, found: Kept, *bonds: Bond | None, partitions: int = PARTITIONS
) -> Owner:
    """What an instance makes of partition 0."""
    known = dict(enumerate([*bonds, None, None][:PARTITIONS]))
    return ownership.take(ownership.claim(partitions), 0, found, known)


def fresh() -> Owner:
    """A ledger's first owner."""
    return taken(Ownership(config(), KEY), kept(None))


def test_an_owner_is_read_as_it_was_written() -> None:
    owner = fresh()
    assert Owner.read(owner.record()) == owner
    assert owner_of(kept(owner)) == owner
    again = taken(Ownership(config(), KEY), kept(owner), bond(owner, 9))
    assert again == owner


def test_every_partition_of_a_ledger_has_a_name_of_its_own() -> None:
    assert fresh().ledger != fresh().ledger


@pytest.mark.parametrize(
    "record", [b"", b"{}", b"[]", b'{"version":2}', b'{"version":1}', b"\xff", b"null"]
)
def test_an_owner_that_cannot_be_read_is_a_damaged_ledger(record: bytes) -> None:
    with pytest.raises(LedgerDamaged):
        Owner.read(record)
    with pytest.raises(LedgerLost, match="is damaged in partition 0"):
        taken(Ownership(config(), KEY), Kept({}, {OWNER: record}, [], 9))


REFUSED: list[tuple[type[MeterAgentError], str, Callable[[Owner], tuple[Kept, Bond]]]] = [
    (LedgerLost, "is new", lambda owner: (kept(None), bond(owner, 0))),
    (
        LedgerLost,
        "is another one",
        lambda owner: (kept(replace(owner, ledger="other")), bond(owner, 0)),
    ),
    (LedgerLost, "ends at 9 in partition 0", lambda owner: (kept(owner), bond(owner, 10))),
    (
        LedgerLost,
        "a record belongs to no meter",
        lambda owner: (kept(owner)._replace(foreign=[b"\xff"]), bond(owner, 0)),
    ),
    (
        LedgerOfAnother,
        "kafka.group is theirs",
        lambda owner: (kept(replace(owner, group="theirs")), bond(owner, 0)),
    ),
    (
        LedgerOfAnother,
        "kafka.input is theirs",
        lambda owner: (kept(replace(owner, input="theirs")), bond(owner, 0)),
    ),
    (
        LedgerOfAnother,
        "run `meteragent key adopt`",
        lambda owner: (kept(replace(owner, key="theirs")), bond(owner, 0)),
    ),
    (
        LedgerOfAnother,
        "run `meteragent key adopt`",
        lambda owner: (kept(owner), replace(bond(owner, 0), key="theirs")),
    ),
    (
        LedgerMoving,
        "ledger migrate",
        lambda owner: (kept(replace(owner, layout=Layout(2, 3))), bond(owner, 0)),
    ),
    (
        LedgerMoving,
        "ledger migrate",
        lambda owner: (kept(owner), replace(bond(owner, 0), layout=Layout(2, 2))),
    ),
    (
        TopicsUnfit,
        "spread over 1 partitions",
        lambda owner: (kept(replace(owner, layout=Layout(1))), bond(owner, 0)),
    ),
]


@pytest.mark.parametrize(("error", "said", "made"), REFUSED)
def test_what_is_not_ours_or_not_whole_is_refused(
    error: type[MeterAgentError], said: str, made: Callable[[Owner], tuple[Kept, Bond]]
) -> None:
    owner = fresh()
    found, known = made(owner)
    with pytest.raises(error, match=said):
        taken(Ownership(config(), KEY), found, known)


def test_the_position_of_another_partition_tells_as_well() -> None:
    owner = fresh()
    for others in (
        replace(bond(owner, 0), key="theirs"),
        replace(bond(owner, 0), layout=Layout(1)),
    ):
        with pytest.raises(MeterAgentError):
            taken(Ownership(config(), KEY), kept(None), None, others)


def test_what_instances_must_agree_on_is_in_the_digest_and_nothing_else() -> None:
    one = digest(config())
    assert one == digest(config(bootstrap_servers=["other:9092"], request_timeout="1s"))
    others = [config(2), config(partitioner="crc32"), config(revision=1)]
    assert len({one, *map(digest, others)}) == 4


def test_a_new_configuration_takes_over_and_the_old_one_never_comes_back_by_itself() -> None:
    old, new = config(1), config(2)
    first = Ownership(old, KEY)
    owner = taken(first, kept(None))
    assert owner.generation.number == 1
    owner = taken(Ownership(new, KEY), kept(owner), bond(owner, 9))
    assert owner.generation.number == 2
    for instance in (first, Ownership(old, KEY)):
        with pytest.raises(Superseded, match=r"kafka\.revision"):
            taken(instance, kept(owner), bond(owner, 9))
        with pytest.raises(Superseded):  # by what it hears of another partition alone
            instance.refuse_others(instance.claim(PARTITIONS), [None, bond(owner, 9)])
    owner = taken(Ownership(config(1, revision=1), KEY), kept(owner), bond(owner, 9))
    assert owner.generation.number == 3


def test_of_two_that_began_at_the_same_time_one_stays_and_the_other_never_comes_back() -> None:
    """Each took the first number, in a partition of its own."""
    configurations = config(1), config(2)
    owners = [taken(Ownership(one, KEY), kept(None)) for one in configurations]
    bonds = [bond(owner, 9) for owner in owners]
    loses, stays = sorted(range(2), key=lambda nth: owners[nth].generation)
    with pytest.raises(Superseded):
        Ownership(configurations[loses], KEY).refuse_others(
            Ownership(configurations[loses], KEY).claim(PARTITIONS), bonds
        )
    owner = taken(Ownership(configurations[stays], KEY), kept(owners[0]), *bonds)
    assert owner.generation == owners[stays].generation
    assert owner.generation.superseded == (owners[loses].generation.digest,)


def test_only_the_last_ones_that_were_left_are_remembered() -> None:
    owner = fresh()
    for budget in range(2, MOST_SUPERSEDED + 4):
        owner = taken(Ownership(config(budget), KEY), kept(owner), bond(owner, 9))
        assert len(owner.generation.superseded) <= MOST_SUPERSEDED
        with pytest.raises(Superseded):
            taken(Ownership(config(budget - 1), KEY), kept(owner), bond(owner, 9))
    again = taken(Ownership(config(1), KEY), kept(owner), bond(owner, 9))
    assert again.generation.number == owner.generation.number + 1


@given(st.integers(0, 2**32))
def test_in_any_order_the_newest_configuration_is_alone_in_the_end(seed: int) -> None:
    """Instances are started, also again, and restore partitions; some look around meanwhile."""
    draw = random.Random(seed)
    partitions: list[Owner | None] = [None] * 3
    configurations = [config(budget) for budget in range(1, 4)]
    started, rolled_out, refused = [Ownership(configurations[0], KEY)], 0, 0

    def restore(instance: Ownership, partition: int) -> None:
        nonlocal refused
        before = partitions[partition]
        bonds = {n: bond(o, 9) if o else None for n, o in enumerate(partitions)}
        try:
            after = instance.take(instance.claim(3), partition, kept(before), bonds)
        except Superseded:
            refused += 1
            started.remove(instance)
            # the service manager starts what it had
            started.append(Ownership(instance._config, KEY))
            return
        assert before is None or before.generation <= after.generation
        partitions[partition] = after

    for _ in range(40):
        if draw.random() < 0.1 and rolled_out < 2 and any(partitions):
            rolled_out += 1
            newest = Ownership(configurations[rolled_out], KEY)
            started.append(newest)
            restore(newest, draw.randrange(3))  # it has begun, and that cannot be taken back
        elif draw.random() < 0.2:
            started.append(Ownership(draw.choice(configurations[: rolled_out + 1]), KEY))
        restore(draw.choice(started), draw.randrange(3))
    for partition in range(3):
        restore(Ownership(configurations[rolled_out], KEY), partition)
    wanted = digest(configurations[rolled_out])
    assert {owner.generation.digest for owner in partitions if owner} == {wanted}
    assert {owner.generation.number for owner in partitions if owner} == {rolled_out + 1}
