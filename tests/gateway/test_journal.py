"""The journal: what was appended is there again, torn tails are cut, damage is refused."""

from __future__ import annotations

import random
from pathlib import Path  # noqa: TC003 - pytest looks at it
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meteragent.errors import FileRefused
from meteragent.gateway import frames
from meteragent.gateway.disk import RealDisk
from meteragent.gateway.errors import JournalDamaged, JournalLost
from meteragent.gateway.frames import JournalRecord, RecordKind
from meteragent.gateway.journal import Journal
from tests.gateway.fragile import FragileDisk

if TYPE_CHECKING:
    from meteragent.gateway.disk import Disk

OWNER = b"o" * 16
RECORDS = st.lists(
    st.builds(
        JournalRecord,
        st.sampled_from(RecordKind),
        st.integers(-(2**62), 2**62),
        st.text(st.characters(), max_size=20),
        st.binary(max_size=50),
    ),
    min_size=1,
    max_size=5,
)


def journal(disk: Disk, limit: int = 64_000_000) -> Journal:
    return Journal(disk, "journal", limit=limit)


def begun(disk: Disk, limit: int = 64_000_000) -> Journal:
    one = journal(disk, limit)
    one.open(OWNER, 0, 0)
    return one


def again(disk: Disk, oldest: int = 0, known: int = 0) -> Journal:
    one = journal(disk)
    one.open(OWNER, oldest, known)
    return one


def held(one: Journal, since: int = 0) -> list[JournalRecord]:
    return [record for _, records in one.records(since) for record in records]


def message(text: bytes) -> JournalRecord:
    return JournalRecord(RecordKind.MESSAGE, 5, "", text)


@given(st.lists(RECORDS, max_size=5), st.integers(0, 30))
def test_what_was_appended_is_there_again(batches: list[list[JournalRecord]], since: int) -> None:
    disk = FragileDisk()
    one = begun(disk)
    wanted: list[JournalRecord] = []
    for batch in batches:
        assert one.append(batch) == len(wanted)
        wanted += batch
    assert held(again(disk, 0, len(wanted)), since) == wanted[since:]


def test_the_real_disk_does_the_same(tmp_path: Path) -> None:
    disk = RealDisk(tmp_path / "journal")
    one = begun(disk, 100_000)
    for number in range(200):
        one.append([message(b"%d" % number * 500)])
    one.forget(150)
    one.close()
    other = again(RealDisk(tmp_path / "journal"), 150, 200)
    assert [r.message for r in held(other, 150)] == [b"%d" % n * 500 for n in range(150, 200)]
    assert (tmp_path / "journal").stat().st_mode & 0o777 == 0o700
    assert all(p.stat().st_mode & 0o777 == 0o600 for p in (tmp_path / "journal").iterdir())
    other.close()


@pytest.mark.parametrize("seed", range(20))
def test_a_torn_tail_is_cut_and_what_was_synced_stays(seed: int) -> None:
    disk, rng = FragileDisk(), random.Random(seed)
    one = begun(disk)
    one.append([message(b"kept")])
    disk.obeys = False
    one.append([message(rng.randbytes(200)) for _ in range(3)])
    disk.obeys = True
    disk.lose(rng)
    other = again(disk, 0, 1)
    assert held(other)[0].message == b"kept"
    assert len(held(other)) in {1, 4}
    other.append([message(b"next")])
    assert held(again(disk))[-1].message == b"next"


def test_zeros_at_the_end_are_a_torn_tail() -> None:
    disk = FragileDisk()
    begun(disk).append([message(b"kept")])
    [inode] = disk.now.values()
    inode.now += bytes(4096)
    assert [r.message for r in held(again(disk))] == [b"kept"]


def test_every_flipped_bit_before_the_last_batch_is_refused() -> None:
    disk = FragileDisk()
    one = begun(disk)
    for text in (b"one", b"two", b"three"):
        one.append([message(text)])
    [inode] = disk.now.values()
    whole = inode.now
    last = whole.rindex(frames.BATCH_MAGIC)
    for bit in range(last * 8):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        inode.now = bytes(damaged)
        with pytest.raises((JournalDamaged, JournalLost)):
            again(disk, 0, 3)


def test_a_message_that_looks_like_a_batch_is_none() -> None:
    """Its sender does not know the salt."""
    disk = FragileDisk()
    one = begun(disk)
    one.append([message(b"kept")])
    forged = frames.batch(b"guess" * 4, 1, [message(b"forged")])
    one.append([message(forged)])
    [inode] = disk.now.values()
    inode.now = inode.now[:-1]
    assert [r.message for r in held(again(disk))] == [b"kept"]


def test_segments_go_when_nobody_needs_them_and_come_back_after_a_loss_of_power() -> None:
    disk = FragileDisk()
    one = begun(disk, 100_000)
    for _ in range(100):
        one.append([message(bytes(1000))])
    before = dict(disk.now)
    assert len(before) > 10
    one.forget(90)
    assert len(disk.now) < 5
    came_back = sorted(before)[3]
    disk.now[came_back] = before[came_back]
    other = again(disk, 90, 100)
    assert len(held(other, 90)) == 10
    assert came_back not in disk.now


def test_it_says_what_does_not_fit_the_ledger() -> None:
    with pytest.raises(JournalLost, match="is missing"):
        again(FragileDisk(), 3, 5)
    disk = FragileDisk()
    begun(disk).append([message(b"one")])
    with pytest.raises(JournalLost, match="ends before"):
        again(disk, 0, 2)
    with pytest.raises(JournalLost, match="another ledger"):
        journal(disk).open(b"x" * 16, 0, 0)
    late = FragileDisk()
    journal(late).start(OWNER, 7)
    with pytest.raises(FileRefused, match="newer than the ledger"):
        again(late, 3, 5)


def test_it_is_bounded() -> None:
    one = begun(FragileDisk(), 100_000)
    while one.has_room([message(bytes(1000))]):
        one.append([message(bytes(1000))])
    assert 90_000 < one.size <= 101_000


def test_another_version_is_refused() -> None:
    disk = FragileDisk()
    begun(disk).append([message(b"one")])
    [inode] = disk.now.values()
    inode.now = inode.now.replace(frames.HEADER_MAGIC, b"mtrJ\0\0\0\2")
    with pytest.raises(JournalDamaged):
        again(disk)
