"""Only `Windows` knows when windows begin: of those that begin later, all else follows.

They are laid over readings that are as much later, so that window for window nothing else may
differ: which are decided, who pays, what is released. There is next to no noise, whose words
would differ with a window's start.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from decimal import Decimal
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from meteragent.privacy.policy import Policy
from meteragent.privacy.question import per_watt, question
from meteragent.privacy.windows import Windows
from meteragent.stream.pipeline import START, Assigned, Pipeline
from meteragent.stream.releases import stages
from tests.given import KEY, SECOND, Record, policy, read, readings
from tests.laws.test_pipeline import logs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from meteragent.privacy.windows import Some

LATER = 10 * SECOND
"""A slot: less than any hop here but one, where it is all of it."""


@dataclass(frozen=True, slots=True)
class LaterWindows(Windows):
    """Windows that begin a slot later than others of their kind."""

    def start(self, window: Some) -> Some:
        return Windows.start(self, window) + LATER

    def newest(self, time: Some) -> Some:
        return Windows.newest(self, time - LATER)

    def first_open(self, passed: Some) -> Some:
        return Windows.first_open(self, passed - LATER)

    def bucket_of(self, start: Some, count: int) -> Some:
        return Windows.bucket_of(self, start - LATER, count)

    def first_slot(self, window: Some) -> Some:
        return Windows.first_slot(self, window) + LATER // self.interval

    @property
    def panes(self) -> Windows:
        pane = Windows(self.size, self.hop, self.interval).panes.size
        return LaterWindows(pane, pane, self.interval)


class LaterPolicy(Policy):
    """A policy for them."""

    @cached_property
    def windows(self) -> Windows:
        return LaterWindows(self.size, self.hop, self.interval)


HOME = policy(
    questions=(question("avg", 2000, 100), question("p95", 1500, 100)),
    size=30 * SECOND,
    grace=10 * SECOND,
    idle=20 * SECOND,
    budget=per_watt("budget", 8000, 100),
    horizon=120 * SECOND,
)
POLICIES = {
    "": HOME,
    "p": replace(HOME, presence="private", size=20 * SECOND, hop=20 * SECOND),
    "h": replace(
        HOME, hop=10 * SECOND, on_exhausted="partial", min_coverage=Decimal("0.5"), grace=0
    ),
}
SUMS = replace(
    HOME,
    questions=tuple(question(name, 2000, 100) for name in ("avg", "min", "max")),
    fill_limit=20 * SECOND,
    size=40 * SECOND,
    hop=20 * SECOND,
)
POLICIES |= {"s": SUMS, "q": replace(SUMS, presence="private", size=30 * SECOND)}
LATER_POLICIES = {
    prefix: LaterPolicy(**{field.name: getattr(one, field.name) for field in fields(one)})
    for prefix, one in POLICIES.items()
}


class SlotPanes(Policy):
    """A policy whose panes are slots, as those of windows are that begin a slot later."""

    @cached_property
    def panes(self) -> Windows:
        return Windows(self.interval, self.interval, self.interval)


ENOUGH = {prefix: replace(one, hop=max(one.hop, 2 * LATER)) for prefix, one in POLICIES.items()}
BY_OFFSET = {prefix: replace(one, offset=LATER) for prefix, one in ENOUGH.items()}
SLOT_BY_SLOT = {
    prefix: SlotPanes(**{field.name: getattr(one, field.name) for field in fields(one)})
    for prefix, one in ENOUGH.items()
}


class Became(NamedTuple):
    """What became of readings."""

    windows: list[tuple[Any, ...]]
    spent: dict[str, int]
    position: tuple[int, int]


def fed(policies: Mapping[str, Policy], log: list[Record], cut: int, *, later: int) -> Became:
    """Feed readings that are so much later; after `cut` of them the pipeline is built anew."""
    log = [r._replace(start=r.start + later, written=r.written + later) for r in log]
    assigned = [Assigned(prefix, prefix, policy) for prefix, policy in policies.items()]
    windows: list[tuple[Any, ...]] = []
    accounts: dict[str, bytes] = {}
    position = START
    for until in (cut, len(log)):
        pipeline = Pipeline(assigned, KEY, max_skew=60 * SECOND, max_meters=9, start=position)
        pipeline.restore(accounts)
        fed_now = pipeline.feed(readings(log[position.offset : until], position.offset))
        for stage in stages(fed_now):
            published: list[tuple[Any, ...]] = []
            for step in stage:
                r = step.releases
                columns = (r.starts - later, r.granted, r.present, np.nan_to_num(r.values, nan=-1))
                rows = zip(*(column.tolist() for column in columns), strict=True)
                when = zip(step.moments.tolist(), step.dues.tolist(), strict=True)
                its = zip(r.meters, rows, r.withheld, strict=True)
                published += zip(when, repeat(step.place), its, strict=False)
                accounts.update(step.accounts)
            windows += [one for *_, one in sorted(published)]
        position = pipeline.position()
    terms = {meter: policies[meter.rpartition("-")[0]].terms for meter in accounts}
    spent = {m: int(read(terms[m], [account]).spent[0]) for m, account in accounts.items()}
    return Became(windows, spent, (position.offset, position.processed))


@settings(max_examples=max(50, settings().max_examples // 2))
@given(log=logs(), cut=st.integers(0, 50))
def test_windows_that_begin_later_are_the_same_windows_as_much_later(
    log: list[Record], cut: int
) -> None:
    cut = min(cut, len(log))
    assert fed(LATER_POLICIES, log, cut, later=LATER) == fed(POLICIES, log, cut, later=0)


@settings(max_examples=max(50, settings().max_examples // 2))
@given(log=logs(), cut=st.integers(0, 50))
def test_so_are_those_of_which_an_offset_says_it(log: list[Record], cut: int) -> None:
    cut = min(cut, len(log))
    assert fed(BY_OFFSET, log, cut, later=LATER) == fed(SLOT_BY_SLOT, log, cut, later=0)


def test_a_bucket_of_theirs_reaches_to_the_end_of_its_last_window() -> None:
    terms = replace(LATER_POLICIES[""], horizon=500 * 30 * SECOND).terms
    assert terms.bucket_windows > 1
    numbers = range(terms.bucket_windows + 1)
    ends = [terms.windows.end(w) for w in numbers if terms.windows.start(w) < terms.bucket]
    assert terms.reach == max(ends)
