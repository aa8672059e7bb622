"""A policy changes while windows are open: what was kept of them is lost, and said to be.

old policy: |--x-----|--y--       (x is released, y is folded, or carried)
                          ^ changed
new policy:               -z--|---(silence)---
                              ^ the window of y and z is withheld as lost: not released of z alone,
                                however often the agent restarts, and though z never came
"""

from ast import literal_eval
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from meteragent.stream.releases import Withheld
from tests.given import SECOND, Record, readings
from tests.laws.test_carried import LONGER, POLICIES, carried_after, logs, pipeline
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
    one = pipeline(published, BEFORE)
    published.commit(one, one.feed(readings(log[:at])))
    until, done = len(published.releases), at
    for cut in [*cuts, len(log)]:
        one, first = pipeline(published, AFTER), published.position.offset
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
        one = pipeline(straight, AFTER)
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
