# ruff: noqa: ANN401 - what is wrapped has types of its own
"""Mistakes that tell what was read: each is made in the product, and undone after the test."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from meteragent import TruncatedGeometric
from meteragent.config import windows
from meteragent.config.zones import zone
from meteragent.explain.guarantee import Guarantee
from meteragent.formats.encoder import Encoder
from meteragent.kafka.unpack import Unpacker
from meteragent.privacy.agreement import Agreement
from meteragent.privacy.calendar import CalendarWindows
from meteragent.privacy.entropy import Entropy
from meteragent.privacy.policy import Policy
from meteragent.privacy.query import NAMED, READINGS, Query
from meteragent.privacy.zone import Zone
from meteragent.stream import branch as branches
from meteragent.stream import folds
from meteragent.stream.branch import Branch
from meteragent.stream.cohort import Cohort
from meteragent.stream.pipeline import Pipeline
from meteragent.stream.readings import Reason, Reject
from meteragent.watch import decided as decided_windows
from tests.given import DAY
from tests.laws import whole_records
from tests.laws.test_queries import mean_half_even
from tests.laws.whole_records import BEGIN

if TYPE_CHECKING:
    from meteragent.privacy.arrays import Integers, Mask
    from meteragent.privacy.question import Question
    from meteragent.stream.folds import Decided
    from meteragent.stream.readings import Readings
    from meteragent.stream.releases import Releases

Plant = Callable[[pytest.MonkeyPatch], None]


# In what is answered, and in the noise.


def rounds_half_to_even(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(NAMED, "avg", Query("avg", mean_half_even, NAMED["avg"].moved))


def halves_the_noise(patch: pytest.MonkeyPatch) -> None:
    def mechanism(policy: Policy, question: Question) -> TruncatedGeometric:
        return TruncatedGeometric(policy.domain, 2 * Decimal(question.epsilon))

    patch.setattr(Policy, "mechanism", mechanism)


def gives_all_answers_one_word(patch: pytest.MonkeyPatch) -> None:
    true = Entropy.words

    def words(*asked: Any) -> Any:
        found = true(*asked)
        found.first = np.broadcast_to(found.first[:, :1], found.first.shape)
        return found

    patch.setattr(Entropy, "words", words)


NAMES_OF_PARTS = ("tags", "starts", "heard", "answers", "outputs")


def noise_without(*forgotten: str) -> Plant:
    """What noise is bound to: `tags` of meters; `starts`, `heard` or `answers` of windows."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        true = Entropy.words

        def words(entropy: Entropy, *parts: Any) -> Any:
            known = dict(zip(NAMES_OF_PARTS, parts, strict=True))
            return true(entropy, **known | {p: np.zeros_like(known[p]) for p in forgotten})

        patch.setattr(Entropy, "words", words)

    plant.__name__ = f"noise_without_{'_'.join(forgotten)}"
    return plant


def draws_anew(patch: pytest.MonkeyPatch) -> None:
    true, draws = Entropy.words, itertools.count()

    def words(entropy: Entropy, tags: Any, starts: Any, *others: Any) -> Any:
        return true(entropy, tags, starts + next(draws), *others)

    patch.setattr(Entropy, "words", words)


def orders_what_is_not_granted(patch: pytest.MonkeyPatch) -> None:
    true = Agreement.agree

    def agree(orders: Agreement, released: Integers, granted: Integers) -> None:
        true(orders, released, np.full_like(granted, len(orders._queries)))

    patch.setattr(Agreement, "agree", agree)


# In what is paid for, rejected, withheld.


def grants_everything(patch: pytest.MonkeyPatch) -> None:
    def charge(branch: Branch, _rows: Integers, _starts: Integers, covered: Mask) -> Integers:
        return np.where(covered, len(branch.policy.questions), 0)

    patch.setattr(Branch, "_charge", charge)


def rejects_what_is_beyond_the_range(patch: pytest.MonkeyPatch) -> None:
    true = Unpacker.columns

    def columns(*given: Any) -> Readings | None:
        readings = true(*given)
        if readings is None:
            return None
        good = (readings.watts >= 0) & (readings.watts <= 2)
        rejects = [Reject(int(at), Reason.BAD_VALUE) for at in readings.offsets[~good]]
        return readings.chosen(good, readings.rejects + rejects, readings.next_offset)

    patch.setattr(Unpacker, "columns", columns)


def takes_zero_for_absent(patch: pytest.MonkeyPatch) -> None:
    for room in (branches, folds):
        patch.setattr(room, "ABSENT", 0)


def counts_readings(patch: pytest.MonkeyPatch) -> None:
    true = Encoder.encode

    def encode(encoder: Encoder, releases: Releases) -> list[bytes]:
        counts = releases.held.tolist()
        return [d + b"%d" % n for d, n in zip(true(encoder, releases), counts, strict=True)]

    patch.setattr(Encoder, "encode", encode)


# In which windows there are, and in what is kept of them.


def counts_days_of_24_hours(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(CalendarWindows, "touching_in_line", lambda _, length: -(-length // DAY))


def forgets_the_winter(patch: pytest.MonkeyPatch) -> None:
    """From the first summer after `BEGIN` on."""

    def summer(name: str) -> Zone:
        its = zone(name)
        return Zone(name, tuple(one for one in its.offsets if one[0] < BEGIN + 300 * DAY))

    patch.setattr(windows, "zone", summer)


def forgets_what_was_folded(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(folds.Folds, "take_over", lambda *_: None)


# In what stands around it.


def sorts_by_content(patch: pytest.MonkeyPatch) -> None:
    true = Branch.decide

    def decide(branch: Branch, decided: Decided, *others: Any) -> Releases:
        order = np.argsort(np.asarray(decided.contents[READINGS]).sum(axis=1), kind="stable")
        return true(branch, decided, *others).chosen(order.tolist())

    patch.setattr(Branch, "decide", decide)


def stamps_by_content(patch: pytest.MonkeyPatch) -> None:
    seen = _look(patch)

    async def send(producer: Any, topic: str, partition: int, records: list[Any]) -> list[Any]:
        batch = producer.create_batch()
        for key, value, *_ in records:
            batch.append(key=key, value=value, timestamp=seen[-1])
        return [await producer.send_batch(batch, topic, partition=partition)]

    patch.setattr(whole_records, "send", send)


def tells_content_by(way: str) -> Plant:
    """By the `position` that is committed, by a record in the `ledger`, or by `events`."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        seen = _look(patch)
        position, accounts, decided = Pipeline.position, Cohort.accounts, decided_windows._decided
        mistakes: dict[str, tuple[object, str, Callable[..., Any]]] = {
            "position": (
                Pipeline,
                "position",
                lambda pipeline: replace(position(pipeline), clock=seen[-1]),
            ),
            "ledger": (
                Cohort,
                "accounts",
                lambda *given: [(m, a + bytes(seen)) for m, a in accounts(*given)],
            ),
            "events": (
                decided_windows,
                "_decided",
                lambda *given: replace(decided(*given), newest_end=seen[-1]),
            ),
        }
        patch.setattr(*mistakes[way])

    plant.__name__ = f"tells_content_by_{way}"
    return plant


# In what is said.


def forgets_the_window_more(patch: pytest.MonkeyPatch) -> None:
    """That a stretch touches which starts or ends elsewhere."""
    patch.setattr(Guarantee, "any_horizon", property(attrgetter("horizon")))


def forgets_the_grid(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Guarantee, "apart", property(attrgetter("radius")))


def _look(patch: pytest.MonkeyPatch) -> list[int]:
    """The largest level of what was closed last since the agent started."""
    seen = [0]
    begin, true = Branch.__init__, Branch.decide

    def init(*given: Any) -> None:
        seen[:] = [0]
        begin(*given)

    def decide(branch: Branch, decided: Decided, *others: Any) -> Releases:
        seen[:] = [int(np.asarray(decided.contents[READINGS]).max())]
        return true(branch, decided, *others)

    patch.setattr(Branch, "__init__", init)
    patch.setattr(Branch, "decide", decide)
    return seen
