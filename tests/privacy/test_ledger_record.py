"""Records read back as they were written, never cheaper under other terms, and never at a guess."""

from __future__ import annotations

import struct
from dataclasses import replace
from hashlib import blake2b

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meteragent.errors import LedgerDamaged
from meteragent.privacy.billing import load as load_all
from meteragent.privacy.ledger import NEVER, Ledger
from meteragent.privacy.ledger_record import MOST_RINGS, dump
from meteragent.privacy.terms import MOST_BUDGET, REACH_BACK, Share, Terms
from meteragent.privacy.windows import Windows
from tests.given import read as load
from tests.given import written as everyone

MINUTE = 60_000
QUARTER = 15 * MINUTE
HOUR = 60 * MINUTE
DAY = 24 * HOUR
FIRST = np.array([0])
QUARTERS = Terms(budget=100, horizon=DAY, windows=Windows(QUARTER, QUARTER, 1), costs=(1,))
HOURS = Terms(budget=100, horizon=DAY, windows=Windows(HOUR, HOUR, 1), costs=(4,))
HEADER = struct.Struct("<4sHHQHHIqqqqqqq")
FIELDS = (
    *("magic", "rings", "zero", "mark", "item", "ring", "private", "budget", "horizon"),
    *("bucket", "reach", "unit", "head", "until"),
)
FIRST_HEADER = struct.Struct("<4sHHqqqqq")
"""Of version 0.1."""
MARK = int.from_bytes(blake2b(b"all", digest_size=8).digest(), "little")


def charge(ledger: Ledger, *starts: int) -> list[int]:
    """Charge the first account for windows that start then."""
    return [int(ledger.charge(FIRST, np.array([start]))[0]) for start in starts]


def left(ledger: Ledger, start: int) -> int:
    return int(ledger.left(FIRST, start)[0])


def spender(terms: Terms, *starts: int) -> Ledger:
    ledger = Ledger(terms, 1)
    assert all(charge(ledger, *starts))
    return ledger


def under(terms: Terms, ledger: Ledger) -> Ledger:
    return load(terms, everyone(ledger))


def test_a_record_is_laid_out_as_documented() -> None:
    ledger = spender(replace(QUARTERS, horizon=HOUR), 7 * QUARTER, 9 * QUARTER, 9 * QUARTER)
    ledger.settle(FIRST, np.array([10 * QUARTER]))
    ring = 4 + REACH_BACK
    spent = [0] * ring
    spent[7], spent[9] = 1, 2
    (record,) = everyone(ledger)
    shape = (MARK, 2, ring, 0, 100, HOUR, QUARTER, QUARTER, 1)
    header = HEADER.pack(b"mtr2", 1, 0, *shape, 9, 10 * QUARTER)
    assert record == header + struct.pack(f"<{ring}h", *spent)


def test_a_record_of_version_0_1_is_the_same_account() -> None:
    ledger = spender(replace(QUARTERS, horizon=HOUR), 7 * QUARTER, 9 * QUARTER, 9 * QUARTER)
    ledger.settle(FIRST, np.array([10 * QUARTER]))
    spent = [0] * (4 + REACH_BACK)
    spent[7], spent[9] = 1, 2
    header = FIRST_HEADER.pack(b"mtrL", 2, len(spent), QUARTER, QUARTER, 1, 9, 10 * QUARTER)
    record = header + struct.pack(f"<{len(spent)}h", *spent)
    assert everyone(load(ledger.terms, [record])) == everyone(ledger)
    for end in (4, 31, 32, len(record) - 1):
        with pytest.raises(LedgerDamaged):
            load(ledger.terms, [record[:end]])


def test_an_account_has_a_ring_for_each_policy_in_their_order() -> None:
    shares = [Share("quarters", QUARTERS), Share("hours", HOURS, private=True)]
    ledgers = [spender(QUARTERS, QUARTER), spender(HOURS, HOUR)]
    (record,) = dump(shares, ledgers, FIRST)
    marks = [int.from_bytes(record[at : at + 8], "little") for at in (8, 8 + 56)]
    assert marks == [share.mark for share in shares]
    assert [record[at] for at in (8 + 12, 8 + 56 + 12)] == [0, 1]
    assert len(record) == 8 + 2 * 56 + 2 * 16 + 2 * sum(one.buckets_kept for one in ledgers)
    again = load_all(shares, [record])
    assert [one.history(0) for one in again] == [{QUARTER: 1}, {HOUR: 4}]
    assert dump(shares, again, FIRST) == [record]
    backwards = load_all(shares[::-1], [record])
    assert [one.history(0) for one in backwards] == [{HOUR: 4}, {QUARTER: 1}]


def test_a_record_knows_how_far_its_windows_reach_and_how_wide_its_entries_are() -> None:
    month = Terms(budget=2**31, horizon=30 * DAY, windows=Windows(HOUR, QUARTER, 1), costs=(1,))
    fields = dict(zip(FIELDS, HEADER.unpack_from(everyone(Ledger(month, 1))[0]), strict=True))
    assert fields["item"] == 8
    assert fields["bucket"] == month.bucket_windows * QUARTER > QUARTER
    assert fields["reach"] == fields["bucket"] - QUARTER + HOUR
    assert (fields["head"], fields["until"]) == (NEVER, NEVER)


@pytest.mark.parametrize("terms", [QUARTERS, replace(QUARTERS, budget=2**40)])
def test_thousands_of_accounts_are_read_back_in_their_order(terms: Terms) -> None:
    many, rng = 3000, np.random.default_rng(1)
    ledger = Ledger(terms, many)
    for now in (0, 5, 30):
        some = np.flatnonzero(rng.random(many) < 0.5)
        ledger.charge(some, (now + rng.integers(0, 3, len(some))) * QUARTER)
        ledger.settle(some, np.full(len(some), now * QUARTER))
    again = load(terms, everyone(ledger))
    for column in ("buckets", "head", "spent", "released_until"):
        np.testing.assert_array_equal(getattr(again, column), getattr(ledger, column))
    picked = rng.permutation(many)[:1500]
    np.testing.assert_array_equal(load(terms, everyone(ledger, picked)).spent, ledger.spent[picked])


def test_a_ledger_without_accounts_is_no_records() -> None:
    assert everyone(Ledger(QUARTERS)) == []
    assert len(load(QUARTERS, [])) == 0


def test_records_of_several_policies_are_read_together() -> None:
    records = [
        *everyone(spender(HOURS, 0)),
        *everyone(spender(QUARTERS, 3 * QUARTER, 3 * QUARTER)),
        *everyone(Ledger(replace(HOURS, budget=2**40), 1)),
    ]
    ledger = load(QUARTERS, records)
    assert [ledger.history(a) for a in range(3)] == [{3 * QUARTER: 4}, {3 * QUARTER: 2}, {}]
    assert ledger.left(np.arange(3), 3 * QUARTER).tolist() == [96, 98, 100]


def test_another_budget_or_price_leaves_the_past_as_it_was() -> None:
    ledger = spender(QUARTERS, *[0] * 60)
    assert left(under(replace(QUARTERS, budget=72, costs=(6,)), ledger), 0) == 12
    assert left(under(replace(QUARTERS, budget=50), ledger), QUARTER) == 0
    assert left(under(replace(QUARTERS, budget=50), ledger), DAY) == 50


def test_a_past_in_another_unit_gains_less_than_one_unit_in_all() -> None:
    """Not one for each of its buckets."""
    paid = replace(QUARTERS, budget=10**6, costs=(500,))
    priced = replace(QUARTERS, budget=100_900, costs=(1009,))
    ledger = under(priced, spender(paid, *(w * QUARTER for w in range(90))))
    assert left(ledger, 89 * QUARTER) == 100_900 - -(-90 * 500 // 1009) * 1009
    assert left(ledger, 89 * QUARTER + DAY - QUARTER) == 100_900 - 1009


def test_a_shorter_horizon_forgets_and_frees_no_more_than_it_may() -> None:
    ledger = spender(QUARTERS, 0, QUARTER, 2 * QUARTER)
    shorter = under(replace(QUARTERS, horizon=HOUR), ledger)
    assert [left(shorter, w * QUARTER) for w in range(2, 7)] == [97, 97, 98, 99, 100]


def test_a_longer_horizon_bills_what_the_record_has_forgotten_at_everything() -> None:
    """The record remembers 112 quarters; those before the first of them may have spent all."""
    now = 1000 * QUARTER
    ledger = under(replace(QUARTERS, horizon=7 * DAY), spender(QUARTERS, now))
    oldest = now - 112 * QUARTER
    assert left(ledger, now + QUARTER) == 0
    assert left(ledger, oldest + 7 * DAY - 2 * HOUR) == 0
    assert left(ledger, oldest + 7 * DAY + 2 * HOUR) == 99


def test_an_account_that_never_spent_owes_nothing_under_any_terms() -> None:
    ledger = under(replace(QUARTERS, horizon=7 * DAY), Ledger(QUARTERS, 1))
    assert left(ledger, 0) == 100
    assert charge(ledger, 0) == [1]


def test_an_hour_is_billed_to_its_last_quarter_and_nothing_may_go_before() -> None:
    ledger = under(QUARTERS, spender(HOURS, 0, HOUR))
    assert ledger.history(0) == {3 * QUARTER: 4, 7 * QUARTER: 4}
    assert [left(ledger, w * QUARTER) for w in (6, 7, 8)] == [0, 92, 92]
    assert [left(ledger, 3 * QUARTER + DAY + late * QUARTER) for late in (-1, 0)] == [92, 96]


def test_quarters_are_billed_to_their_hour() -> None:
    ledger = under(HOURS, spender(QUARTERS, *(w * QUARTER for w in range(8))))
    assert ledger.history(0) == {0: 4, HOUR: 4}


def test_long_windows_are_billed_until_they_end_though_new_ones_are_short() -> None:
    """A day's window that began at noon still touches the next morning."""
    days = Terms(budget=100, horizon=2 * DAY, windows=Windows(DAY, HOUR, 1), costs=(4,))
    noon = 12 * HOUR
    ledger = under(HOURS, spender(days, noon))
    assert ledger.history(0) == {noon + DAY - HOUR: 4}
    assert left(ledger, 2 * DAY) == 96


def test_changing_terms_back_and_forth_adds_nothing_and_moves_nothing_on() -> None:
    """But what 92 quarters do not remember is billed when 96 are asked for."""
    ledger = spender(QUARTERS, 5 * QUARTER, 7 * QUARTER)
    for _ in range(50):
        ledger = under(QUARTERS, under(replace(QUARTERS, horizon=DAY - HOUR), ledger))
    forgotten = (7 - 92) * QUARTER
    assert ledger.history(0) == {5 * QUARTER: 1, 7 * QUARTER: 1, forgotten: ledger.full}
    assert charge(ledger, 8 * QUARTER, forgotten + DAY - QUARTER, forgotten + DAY) == [0, 0, 1]
    assert left(ledger, forgotten + DAY) == 97


def test_more_than_an_entry_can_hold_stays_beyond_any_budget() -> None:
    """Spent under 64-bit terms, kept in 16 bits, and asked for again."""
    rich, poor = replace(QUARTERS, budget=2**40, costs=(2**33,)), replace(QUARTERS, horizon=HOUR)
    ledger = under(poor, spender(rich, 0))
    assert ledger.buckets.dtype == np.int16
    assert left(ledger, 0) == 0
    again = under(replace(rich, budget=MOST_BUDGET), ledger)
    assert left(again, 0) == left(again, DAY - QUARTER) == 0
    assert left(again, DAY) == MOST_BUDGET


def test_the_largest_amount_of_an_entry_is_never_spent_in_earnest() -> None:
    """Else a budget of 2**31 - 1 spent at once would read as more than any budget."""
    most = 2**31 - 1
    ledger = spender(replace(QUARTERS, budget=most, costs=(most,)), 0)
    assert left(under(replace(QUARTERS, budget=2**32), ledger), 0) == 2**32 - most


def test_bills_beyond_counting_do_not_overflow() -> None:
    rich = replace(QUARTERS, budget=MOST_BUDGET, costs=(MOST_BUDGET,), horizon=QUARTER)
    ledger = spender(rich, *(w * QUARTER for w in range(17)))
    days = replace(rich, horizon=DAY, windows=Windows(DAY, DAY, 1))
    for _ in range(3):
        ledger = under(days, ledger)
        assert left(ledger, 0) == 0
        assert set(ledger.history(0).values()) == {MOST_BUDGET}


def damaged(**changes: int | bytes) -> bytes:
    (record,) = everyone(spender(QUARTERS, 0))
    fields = dict(zip(FIELDS, HEADER.unpack_from(record), strict=True))
    return HEADER.pack(*{**fields, **changes}.values()) + record[HEADER.size :]


def wide(*, unit: int, entry: int) -> bytes:
    (record,) = everyone(spender(replace(QUARTERS, budget=2**40), 0))
    fields = dict(zip(FIELDS, HEADER.unpack_from(record), strict=True)) | {"unit": unit}
    return HEADER.pack(*fields.values()) + record[HEADER.size : -8] + struct.pack("<q", entry)


@pytest.mark.parametrize(
    "record",
    [
        b"",
        b"mtrL",
        b"mtr2",
        b"mtr2\1\0\0\0",
        damaged()[:63],
        damaged()[:64],
        damaged()[:-1],
        damaged() + b"\0",
        damaged(magic=b"mtrM"),
        damaged(magic=b"mtrL"),
        damaged(rings=0),
        damaged(rings=2),
        damaged(rings=65),
        damaged(zero=1),
        damaged(budget=0),
        damaged(budget=2**48 + 1),
        damaged(horizon=0),
        damaged(horizon=2**52),
        damaged(item=3),
        damaged(item=4),
        damaged(item=8),
        damaged(ring=0),
        damaged(ring=111),
        damaged(ring=129),
        damaged(ring=2**16 - 1),
        damaged(bucket=0),
        damaged(bucket=-QUARTER),
        damaged(bucket=2**62),
        damaged(unit=0),
        damaged(unit=-1),
        damaged(unit=2**62),
        damaged(reach=0),
        damaged(reach=2**62),
        damaged(head=2**59),
        damaged(head=2**62),
        damaged(head=-(2**63)),
        damaged(head=NEVER),
        damaged(until=2**63 - 1),
        damaged(until=NEVER + 1),
        damaged()[:-4] + struct.pack("<i", -1),
        wide(unit=1, entry=2**49),
        wide(unit=2**40, entry=2**30),
        wide(unit=2**40, entry=-1),
    ],
    ids=lambda record: record[:48].hex(),
)
def test_a_damaged_record_is_refused_and_never_taken_for_no_spend(record: bytes) -> None:
    with pytest.raises(LedgerDamaged):
        load(QUARTERS, [*everyone(spender(QUARTERS, 0)), record])


def test_the_record_that_is_damaged_here_is_sound() -> None:
    assert everyone(load(QUARTERS, [damaged()])) == [damaged()]
    assert left(load(QUARTERS, [wide(unit=2**40, entry=1)]), 0) == 0


numbers = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-100, 100),
    st.sampled_from([NEVER, 2**50, 2**60, QUARTER, DAY]),
)


@st.composite
def arbitrary_records(draw: st.DrawFn) -> bytes:
    """Of a sound layout, or made up from the first byte on."""
    if draw(st.booleans()):
        return draw(st.binary(max_size=600))
    item, ring = draw(st.sampled_from([2, 4, 8])), draw(st.integers(1, 128))
    kept = (draw(st.sampled_from([MARK, 7])), item, ring, draw(st.integers(0, 1)))
    terms = (draw(numbers | st.just(100)), draw(numbers | st.just(DAY)))
    header = HEADER.pack(b"mtr2", 1, 0, *kept, *terms, *(draw(numbers) for _ in range(5)))
    most = draw(st.sampled_from([0, 100, 2 ** (8 * min(item, 4) - 1) - 1]))
    entry = st.integers(0, most).map(lambda spent: spent.to_bytes(item, "little"))
    return header + b"".join(draw(st.lists(entry, min_size=ring, max_size=ring)))


def struck(place: int, stroke: int) -> bytes:
    record = bytearray(damaged())
    record[place] ^= stroke
    return bytes(record)


@given(place=st.integers(0, 7), stroke=st.integers(1, 255))
def test_a_stroke_in_the_kind_or_shape_of_a_record_is_noticed(place: int, stroke: int) -> None:
    with pytest.raises(LedgerDamaged):
        load(QUARTERS, [struck(place, stroke)])


@given(
    record=st.one_of(
        arbitrary_records(),
        st.builds(struck, st.integers(0, len(damaged()) - 1), st.integers(1, 255)),
    ),
    terms=st.sampled_from([QUARTERS, HOURS]),
    now=numbers,
)
def test_any_bytes_are_refused_or_are_an_account_that_works(
    record: bytes, terms: Terms, now: int
) -> None:
    try:
        ledger = load(terms, [record])
    except LedgerDamaged:
        return
    start = terms.windows.start(terms.windows.newest(now % 2**60))
    before = left(ledger, start)
    assert 0 <= before <= terms.budget
    assert (charge(ledger, start) == [1]) is (before >= terms.costs[0])
    assert 0 <= left(ledger, start) <= before


@pytest.mark.parametrize("rings", [0, MOST_RINGS + 1, 2**16 - 1])
def test_a_record_of_more_rings_than_there_can_be_is_none_of_ours(rings: int) -> None:
    """Before any memory is taken for them."""
    with pytest.raises(LedgerDamaged, match="of a version that is known"):
        load(QUARTERS, [damaged(rings=rings) + bytes(2**21)])
