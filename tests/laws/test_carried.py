"""A silent meter does not hold its partition back: open panes wait in the ledger instead.

a: --x--|                                 (silent; its delay is long)
b: -----|--y--|--y--|--y--|--y--|--y--|
                          ^ x is so old that it is written down; what is read again begins here
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from meteragent.errors import LedgerDamaged
from meteragent.privacy.ledger_record import behind
from meteragent.privacy.question import question
from meteragent.stream.fold_record import longest
from meteragent.stream.pipeline import Assigned, Pipeline
from meteragent.stream.releases import Step, Withheld
from meteragent.stream.trail import expected, read_back
from meteragent.stream.written import shapes
from tests.given import HOUR, KEY, SECOND, Record, policy, readings
from tests.laws.test_pipeline import HOME, PEAKS, SUMS, Published, at_once

LATE: dict[str, Any] = {"idle": 900 * SECOND, "grace": 20 * SECOND}
POLICIES = (
    Assigned("", "all", replace(HOME, **LATE)),
    Assigned("", "sums", replace(SUMS, **LATE)),
    Assigned("q-", "q-", replace(PEAKS, **LATE)),
    Assigned("k-", "k-", replace(SUMS, questions=(question("median", 1, 100),), **LATE)),
)
METERS = ("a", "b", "c", "q-1", "k-1", "k-2")


@st.composite
def logs(draw: st.DrawFn) -> list[Record]:
    """Some meters send all the time, others once in a while, and late."""
    time, log = 10**6, []
    for _ in range(draw(st.integers(1, 40))):
        time += draw(st.sampled_from([0, 1, 5, 10, 30, 100])) * SECOND
        meter = draw(st.sampled_from(METERS))
        behind = draw(st.sampled_from([0, 0, 1, 30, 200, 600])) * SECOND
        length = draw(st.sampled_from([1, 1, 2, 6]))
        watts = tuple(draw(st.sampled_from([10.0, 500.0, float("nan")])) for _ in range(length))
        log.append(Record(meter, time, time - behind, watts))
    return log


@contextmanager
def carried_after(longer: int, many: int = 1) -> Iterator[None]:
    """What is open for so much longer than expected is written down, of many meters at once."""
    with patch.multiple("meteragent.stream.trail", LONGER=longer, MILE=1, AT_LEAST=many):
        yield


def pipeline(published: Published, policies: tuple[Assigned, ...] = POLICIES) -> Pipeline:
    built = Pipeline(policies, KEY, max_skew=60 * SECOND, max_meters=9, start=published.position)
    built.restore(published.accounts)
    return built


def straight(log: list[Record]) -> Published:
    """Nothing is carried, and nothing goes wrong."""
    published = Published()
    with carried_after(10**6 * HOUR):
        one = pipeline(published)
        for at, record in enumerate(log):
            published.commit(one, one.feed(readings([record], at)))
    return published


FATES = st.sampled_from(["go on", "commit", "commit and crash", "crash"])
LONGER = st.sampled_from([0, 10 * SECOND, 100 * SECOND])


@settings(max_examples=max(50, settings().max_examples // 2))
@given(
    logs(),
    st.lists(st.tuples(st.integers(1, 12), FATES), max_size=8),
    LONGER,
    st.sampled_from([3, 2**14]),
)
def test_what_is_carried_is_released_as_if_it_had_been_read_again(
    log: list[Record], fates: list[tuple[int, str]], longer: int, much: int
) -> None:
    expected_of_all, published = straight(log), Published()
    with carried_after(longer), at_once(much):
        waiting: list[Step] = []
        one, at = pipeline(published), 0
        for length, fate in [*fates, (len(log), "commit and crash")]:
            upto = min(at + length, len(log))
            if upto > at:
                waiting += one.feed(readings(log[at:upto], at))
            at = upto
            if "commit" in fate:
                published.commit(one, waiting)
                waiting = []
            if "crash" in fate:
                one, waiting, at = pipeline(published), [], published.position.offset
        assert published.releases == expected_of_all.releases
        same = pipeline(expected_of_all)
        for built, begin in ((one, at), (same, expected_of_all.position.offset)):
            list(built.feed(readings(log[begin:], begin)))
        last = Published(), Published()
        over = log[-1].written + 1000 * SECOND
        last[0].commit(one, one.tick(over))
        last[1].commit(same, same.tick(over))
    assert last[0].releases == last[1].releases


@given(logs(), st.integers(1, 8), LONGER)
def test_no_meter_holds_the_position_back_for_longer_than_it_may(
    log: list[Record], length: int, longer: int
) -> None:
    with carried_after(longer, many=100):
        most = max(expected(one.policy) for one in POLICIES)
        published = Published()
        one = pipeline(published)
        for low in range(0, len(log), length):
            high = min(low + length, len(log))
            published.commit(one, one.feed(readings(log[low:high], low)))
            until = high - 1
            while until > 0 and log[until - 1].written > log[high - 1].written - most:
                until -= 1
            batch = until // length * length
            assert published.position.offset >= batch


def test_few_are_carried_at_once_and_the_oldest_first() -> None:
    """Three meters fall silent one after the other; then a fourth one sends."""
    late = policy(size=60 * SECOND, grace=0, idle=10 * HOUR)
    log = [
        Record(meter, at * SECOND, at * SECOND, (1.0,)) for at, meter in enumerate("abc", 3_600_000)
    ]
    log += [Record("d", at * HOUR, at * HOUR, (1.0,)) for at in range(1001, 1006)]
    published = Published()
    one = pipeline(published, (Assigned("", "all", late),))
    offsets = []
    for at, record in enumerate(log):
        published.commit(one, one.feed(readings([record], at)))
        offsets.append(published.position.offset)
    assert offsets == [0, 0, 0, 0, 1, 2, 6, 7]


@given(st.sampled_from(["grace", "step", "spelling"]))
def test_what_was_carried_under_other_settings_is_lost_and_said_to_be(changed: str) -> None:
    day = policy(size=24 * HOUR, interval=HOUR, idle=36 * HOUR, grace=0)
    sent = (("M", 24), ("b", 26), ("b", 28))
    log = [Record(meter, at * HOUR, at * HOUR, (1.0,)) for meter, at in sent]
    published = Published()
    one = pipeline(published, (Assigned("", "all", day),))
    for at, record in enumerate(log):
        published.commit(one, one.feed(readings([record], at)))
    assert published.position.offset == 2
    assert not published.releases
    after = {"grace": replace(day, grace=HOUR), "step": replace(day, fill_limit=HOUR)}
    if changed == "spelling":
        published.accounts["m"] = published.accounts["M"]
    one = Pipeline(
        (Assigned("", "all", after.get(changed, day)),),
        KEY,
        max_skew=HOUR,
        max_meters=9,
        normalise_ids=changed == "spelling",
        start=published.position,
    )
    one.restore(published.accounts)
    log.append(Record("M", 28 * HOUR, 28 * HOUR, (1.0,)))
    list(one.feed(readings(log[2:], 2)))
    steps = list(one.tick(100 * HOUR))
    of = {
        meter.lower(): why
        for step in steps
        for meter, why in zip(step.releases.meters, step.releases.withheld, strict=True)
    }
    assert of["m"] == Withheld.LOST
    assume(changed == "grace")
    assert of["b"] == Withheld.NOTHING


def test_what_is_carried_stays_written_down_while_more_comes_into_its_pane() -> None:
    """
    a: |--x----|--y-----|-z-      x, y are carried; z comes into y's pane, then x's pane closes

    and its window is written down: y must be, too.
    """
    late = policy(size=60 * SECOND, grace=60 * SECOND, idle=10 * HOUR)
    log = [
        Record(meter, (HOUR + written) * SECOND, (HOUR + time) * SECOND, (watts,))
        for meter, written, time, watts in (
            ("a", 0, 0, 10.0),
            ("a", 70, 70, 20.0),
            ("b", 8000, 8000, 1.0),
            ("b", 9000, 9000, 1.0),
            ("b", 18000, 18000, 1.0),
            ("a", 18001, 100, 60.0),
            ("a", 18002, 121, 7.0),
        )
    ]
    releases = []
    for crash in (False, True):
        published = Published()
        one = pipeline(published, (Assigned("", "all", late),))
        published.commit(one, one.feed(readings(log[:3])))
        for at in range(3, len(log)):
            published.commit(one, one.feed(readings(log[at : at + 1], at)))
        if crash:
            one = pipeline(published, (Assigned("", "all", late),))
            begin = published.position.offset
            published.commit(one, one.feed(readings(log[begin:], begin)))
        published.commit(one, one.tick((HOUR + 90_000) * SECOND))
        releases.append(published.releases)
    assert releases[0] == releases[1]
    assert releases[0]


def test_absent_readings_tell_nothing_that_a_restart_would_not_know() -> None:
    """
    a: |--x--|-----|--y--|--(absent)--      y is sent after the absent one, and before it

    Were that one to close y's pane, who begins after it would not know so, and would take y.
    """
    late = policy(size=60 * SECOND, grace=0, idle=10 * HOUR)
    sent = ((0, 10.0), (400, float("nan")), (150, 20.0), (600, 30.0))
    log = [
        Record("a", (HOUR + 600 + nth) * SECOND, (HOUR + time) * SECOND, (watts,))
        for nth, (time, watts) in enumerate(sent)
    ]
    found = []
    for crashes in (set[int](), {2}, {1, 2, 3}):
        published = Published()
        one = pipeline(published, (Assigned("", "all", late),))
        for at, record in enumerate(log):
            if at in crashes:
                one = pipeline(published, (Assigned("", "all", late),))
                begin = published.position.offset
                published.commit(one, one.feed(readings(log[begin:at], begin)))
            published.commit(one, one.feed(readings([record], at)))
        published.commit(one, one.tick((HOUR + 90_000) * SECOND))
        found.append(published.releases)
    assert found[1:] == found[:1] * 2
    assert [end for _, end, _ in found[0]] == [(HOUR + end) * SECOND for end in (60, 180, 660)]


def test_what_a_restart_reads_back_is_known_beforehand() -> None:
    """A pane of a quarter of an hour and ten minutes' grace; then what silent meters take."""
    day = policy(size=24 * HOUR, interval=60 * SECOND, grace=600 * SECOND, idle=300 * SECOND)
    late, minute = replace(day, idle=36 * HOUR), 60 * SECOND
    assert read_back(day) == (15 + 10 + 5) * minute
    assert read_back(late) == (15 + 10 + 60 + 5) * minute
    assert read_back(replace(late, presence="private")) == (15 + 10 + 36 * 60) * minute


def test_times_that_no_window_can_have_are_no_record() -> None:
    one = pipeline(Published(), (Assigned("", "all", replace(SUMS, **LATE)),))
    log = [Record("a", at * SECOND, at * SECOND, (1.0,)) for at in (1000, 1100)]
    [[(meter, account)]] = [step.accounts for step in one.feed(readings(log))]
    [tail] = behind([account])
    until = len(tail) - len(tail[8 + 3 * 8 :])
    wrong = account[: len(account) - len(tail)] + tail[:until] + bytes([255] * 7 + [127])
    with pytest.raises(LedgerDamaged, match="times"):
        pipeline(Published(accounts={meter: wrong + tail[until + 8 :]}), POLICIES)


def test_no_record_is_longer_than_is_expected() -> None:
    """One silent meter, of which all is written down that may be, and what is lost of it."""
    its = POLICIES[:2]
    published = Published()
    sent = (("a", 999), ("b", 1020), ("b", 1500))
    log = [Record(meter, at * SECOND, at * SECOND, (1.0,)) for meter, at in sent]
    with carried_after(0):
        one = pipeline(published, its)
        for at, record in enumerate(log):
            published.commit(one, one.feed(readings([record], at)))
            lengths = [len(tail) for tail in behind([*published.accounts.values()])]
    of_lost = len(its) * (3 + 2) * 8
    assert max(lengths) == longest([shape for one in its for shape in shapes(one)]) - of_lost
