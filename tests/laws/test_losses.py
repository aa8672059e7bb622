"""A policy changes while windows are open: what was kept of them is lost, and said to be.

old policy: |--x-----|--y--       (x is released, y is folded, or carried)
                          ^ changed
new policy:               -z--|---(silence)---
                              ^ the window of y and z is withheld as lost: not released of z alone,
                                however often the agent restarts, and though z never came
"""

from ast import literal_eval
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meteragent.errors import LedgerDamaged
from meteragent.stream.branch import Branch
from meteragent.stream.cohort import Cohort
from meteragent.stream.losses import since_in
from meteragent.stream.pipeline import Assigned
from meteragent.stream.releases import Withheld
from tests.given import HOUR, KEY, SECOND, Record, policy, readings
from tests.laws.test_carried import LONGER, POLICIES, carried_after, logs
from tests.laws.test_carried import pipeline as built
from tests.laws.test_pipeline import Published

AMPLE: dict[str, Any] = {"budget": 10**12}
BEFORE = tuple(replace(one, policy=replace(one.policy, **AMPLE)) for one in POLICIES)
AFTER = tuple(
    replace(
        one,
        policy=replace(
            one.policy,
            questions=tuple(replace(asked, nano=asked.nano + 1) for asked in one.policy.questions),
        ),
    )
    for one in BEFORE
)
"""Of other releases, but of the same windows, which close alike."""
Windows = dict[tuple[str, int, int], str]
"""(meter, start, end) -> all that is released."""
OVER, HOPS_BACK = 10**4 * SECOND, 20 * SECOND


def windows(published: Published, since: int = 0) -> Windows:
    """Each is decided once."""
    told = published.releases[since:]
    found = {
        (m, literal_eval(text.decode().replace("nan", "0"))[0], end): text.decode()
        for m, end, text in told
    }
    assert len(found) == len(told)
    return found


def changed(log: list[Record], at: int, cuts: list[int], tick: int = OVER) -> tuple[Published, int]:
    """What is published, and how much of it under the old policies.

    The new ones begin again at each of the cuts, with what is committed.
    """
    published = Published()
    one = built(published, BEFORE)
    published.commit(one, one.feed(readings(log[:at])))
    until, done = len(published.releases), at
    for cut in [*cuts, len(log)]:
        one, first = built(published, AFTER), published.position.offset
        published.commit(one, one.feed(readings(log[first : max(cut, done)], first)))
        done = max(cut, done)
    published.commit(one, one.tick(log[-1].written + tick))
    return published, until


@settings(max_examples=max(50, settings().max_examples // 2))
@given(logs(), st.integers(1, 40), st.lists(st.integers(1, 40), max_size=3), LONGER)
def test_a_window_of_which_something_was_lost_is_said_to_be(
    log: list[Record], at: int, cuts: list[int], longer: int
) -> None:
    at = min(at, len(log))
    with carried_after(longer):
        published, until = changed(log, at, sorted(min(cut, len(log)) for cut in cuts))
        straight = Published()
        one = built(straight, AFTER)
        straight.commit(one, one.feed(readings(log)))
        straight.commit(one, one.tick(log[-1].written + OVER))
    decided, told = windows(published), windows(published, until)
    every = windows(straight)
    assert not every.keys() - decided.keys()
    for (meter, start, end), text in told.items():
        if f"'{Withheld.LOST}'" not in text:
            assert text == every[meter, start, end]
        elif meter != "q-1":
            assert any(
                record.meter == meter
                and record.start < end
                and record.start + len(record.watts) * 10 * SECOND > start - HOPS_BACK
                for record in log[:at]
            )


DAY = policy(size=24 * HOUR, interval=HOUR, idle=2 * HOUR, budget=10**12)
OTHER = replace(DAY, questions=tuple(replace(one, nano=one.nano + 1) for one in DAY.questions))


def days(
    log: list[Record], at: int, presence: Literal["public", "private"] = "public", tick: int = 300
) -> dict[str, list[str]]:
    """What is withheld of each meter's days, or nothing, where the policy was changed `at`."""
    before, after = (
        (Assigned("", "all", replace(one, presence=presence)),) for one in (DAY, OTHER)
    )
    published = Published()
    for low, high, its in ((0, at, before), (at, at + 1, after), (at + 1, len(log), after)):
        one = built(published, its)
        first = published.position.offset
        published.commit(one, one.feed(readings(log[min(first, low) : high], min(first, low))))
    published.commit(one, one.tick(tick * HOUR))
    found: dict[str, list[str]] = {}
    for meter, _, text in published.releases:
        found.setdefault(meter, []).append(literal_eval(text.decode().replace("nan", "0"))[2])
    return found


def hourly(meter: str, hours: range) -> list[Record]:
    return [Record(meter, at * HOUR, at * HOUR, (500.0,), HOUR) for at in hours]


def in_order(*some: list[Record]) -> list[Record]:
    return sorted((record for its in some for record in its), key=lambda record: record.written)


SILENT = in_order(hourly("a", range(24, 96)), hourly("b", range(24, 33)))
"""`b` falls silent at nine in the morning; of its day there is nothing more to come."""


def test_a_meter_that_stays_silent_is_told_of_the_window_that_it_lost() -> None:
    assert days(SILENT, at=24) == {"a": [Withheld.LOST, "", ""], "b": [Withheld.LOST]}


def test_a_restart_within_the_window_does_not_make_it_whole() -> None:
    """Nor does one after the first record of the new policy was written: see `days`."""
    for at in range(19, 24):
        assert days(SILENT, at)["a"][0] == Withheld.LOST


def test_where_presence_is_private_what_is_lost_tells_nobody_who_was_heard() -> None:
    """The policy is changed at six in the second morning; `b` was heard at one, or was not."""
    found = []
    for heard in (range(49, 50), range(0)):
        log = in_order(hourly("a", range(24, 96)), hourly("b", range(24, 26)), hourly("b", heard))
        at = sum(record.written < 54 * HOUR for record in log)
        told = days(log, at, "private")
        found.append({meter: [why == Withheld.LOST for why in its] for meter, its in told.items()})
    assert found[0] == found[1]
    assert found[0]["b"][:3] == [False, True, False]


def _nothing(*_: object) -> None: ...


@pytest.mark.parametrize(
    ("where", "what"), [(Branch, "lose"), (Branch, "settle_losses"), (Branch, "are_lost")]
)
def test_a_planted_mistake_is_found(
    monkeypatch: pytest.MonkeyPatch, where: type, what: str
) -> None:
    """Losses that are not read back, not said, not written down."""

    def none(_: Branch, rows: Any) -> Any:  # noqa: ANN401 - a mask
        return rows < 0

    monkeypatch.setattr(where, what, none if what == "are_lost" else _nothing)
    assert days(SILENT, at=24) != {"a": [Withheld.LOST, "", ""], "b": [Withheld.LOST]}


def test_of_accounts_that_are_made_one_open_windows_are_lost() -> None:
    """Each of them held a part, and nobody knows whether of the same readings."""
    its = (Assigned("", "all", DAY),)
    records, log = [], hourly("a", range(24, 60))
    for hours in (5, 9):
        published = Published()
        one = built(published, its)
        published.commit(one, one.feed(readings(log[:hours])))
        records.append(published.accounts["a"])
    cohort = Cohort(its, KEY)
    cohort.restore(["a"], [records], clock=33 * HOUR)
    published = Published(
        accounts=dict(cohort.accounts(np.array([0]))), position=published.position
    )
    one = built(published, its)
    published.commit(one, one.feed(readings(log[9:], 9)))
    published.commit(one, one.tick(100 * HOUR))
    assert [b"lost" in text for _, _, text in published.releases] == [True, False]


def test_of_accounts_that_are_made_one_panes_that_were_carried_are_lost_and_said_to_be() -> None:
    """Though their meter stays silent: where windows are panes, and where they have several.

    a: --x--|          carried, in both records
    b:        --x--|--x--|
    """
    short: dict[str, Any] = {"interval": 10 * SECOND, "idle": 10 * HOUR, "grace": 600 * SECOND}
    for several in (1, 3):
        lasting = replace(DAY, **short, size=several * 60 * SECOND, hop=60 * SECOND)
        its = (Assigned("", "all", lasting),)
        sent = (("a", 0), ("b", 1_500), ("b", 1_600), ("b", 1_700))
        log = [Record(m, 10**9 + at * SECOND, 10**9 + at * SECOND, (9.0,)) for m, at in sent]
        published = Published()
        with carried_after(0):
            one = built(published, its)
            for at, record in enumerate(log):
                published.commit(one, one.feed(readings([record], at)))
        assert published.position.offset > 0
        cohort = Cohort(its, KEY)
        cohort.restore(["a"], [[published.accounts["a"]] * 2], clock=log[-1].written)
        published.accounts |= dict(cohort.accounts(np.array([0])))
        one, first = built(published, its), published.position.offset
        published.commit(one, one.feed(readings(log[first:], first)))
        published.commit(one, one.tick(log[-1].written + 20 * HOUR))
        told = {(end - 10**9) // SECOND: text for m, end, text in published.releases if m == "a"}
        assert all(b"lost" in text for text in told.values())
        assert told.keys() >= {20 + 60 * nth for nth in range(several)}


def test_panes_that_were_carried_are_lost_and_said_to_be_though_their_meter_stays_silent() -> None:
    """Where windows are panes: nothing is folded, and what is open waits in the record.

    a: --x--|-----|--y--|          carried; the policy is changed, and `a` is silent from then on
    b:                       --x--|--x--|
    """
    short: dict[str, Any] = {"size": 60 * SECOND, "hop": 60 * SECOND, "interval": 10 * SECOND}
    short |= {"idle": 10 * HOUR, "grace": 600 * SECOND}
    sent = (("a", 0), ("a", 130), ("b", 1_500), ("b", 1_600), ("b", 1_700))
    log = [Record(meter, 10**9 + at * SECOND, 10**9 + at * SECOND, (9.0,)) for meter, at in sent]
    published = Published()
    with carried_after(0):
        one = built(published, (Assigned("", "all", replace(DAY, **short)),))
        for at, record in enumerate(log):
            published.commit(one, one.feed(readings([record], at)))
    assert (published.position.offset, published.releases) == (2, [])
    one = built(published, (Assigned("", "all", replace(OTHER, **short)),))
    first = published.position.offset
    published.commit(one, one.feed(readings(log[first:], first)))
    published.commit(one, one.tick(log[-1].written + 20 * HOUR))
    lost = [(meter, end - 10**9) for meter, end, text in published.releases if b"lost" in text]
    assert lost == [("a", end * SECOND) for end in (20, 80, 140)]
    assert len(published.releases) == 6


def test_a_record_that_is_too_short_for_what_was_lost_is_refused() -> None:
    with pytest.raises(LedgerDamaged, match="cut short"):
        since_in(np.zeros((1, 7), dtype=np.uint8))
