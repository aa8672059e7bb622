"""Partitions that more meters move into, and records that were damaged."""

from __future__ import annotations

import numpy as np
import pytest

from meteragent.errors import LedgerDamaged
from meteragent.privacy.question import question
from meteragent.stream.fold import Fold
from meteragent.stream.fold_record import Folded, FoldShape, dump, parsed
from meteragent.stream.folds import Folds
from meteragent.stream.grain import Grain
from meteragent.stream.order import NEVER
from meteragent.stream.pipeline import START, Assigned, Pipeline
from tests.given import DAY, HOUR, KEY, MINUTE, Record, policy, readings

LONG = policy(
    questions=tuple(question(name, 1, 100) for name in ("avg", "max")),
    size=DAY,
    interval=15 * MINUTE,
    grace=0,
)
METERS = 200


def test_meters_that_move_in_one_by_one_are_released_like_all_at_once() -> None:
    log = [Record(f"m-{n}", DAY, n * MINUTE, (float(n),)) for n in range(METERS)]
    log += [Record(f"m-{n}", DAY, DAY + HOUR, (1.0,)) for n in range(METERS)]
    found = []
    for length in (1, METERS):
        partition = Pipeline(
            [Assigned("", "all", LONG)], KEY, max_skew=DAY, max_meters=METERS, start=START
        )
        told: list[tuple[str, list[float]]] = []
        for at in range(0, len(log), length):
            for step in partition.feed(readings(log[at : at + length], at)):
                values = step.releases.values.tolist()
                told += zip(step.releases.meters, values, strict=True)
        found.append(told)
    assert len(found[0]) == METERS
    assert sorted(found[0]) == sorted(found[1])


def test_rows_that_there_are_already_want_no_room() -> None:
    fold = Fold(Grain.of_readings(LONG))
    fold.grow(5)
    before = fold.bytes_of_state
    fold.grow(3)
    assert fold.bytes_of_state == before
    assert len(fold.until(np.arange(5))) == 5


def test_what_was_lost_stays_lost_while_others_move_in() -> None:
    folds = Folds(LONG)
    folds.grow(2)
    folds.losses.lose(np.array([0]), np.array([0]), np.array([DAY]))
    folds.grow(40)
    folds.grow(3)
    rows = np.arange(40)
    assert folds.losses.open(rows, np.zeros(40, dtype=np.int64)).tolist() == [True] + 39 * [False]
    assert folds.losses.whole(rows, np.ones(40, dtype=np.int64)).all()
    assert folds.losses.awaited(rows)[0] == 0
    assert (folds.losses.awaited(rows)[1:] == NEVER).all()


[KEPT] = dump([Folded(FoldShape(1, 2, 3), np.array([DAY]), np.ones((1, 3), np.uint8))])


@pytest.mark.parametrize(
    "damaged",
    [
        b"fld0" + KEPT[4:],
        KEPT[:6] + b"\1\0" + KEPT[8:],
        KEPT[:4] + b"\0\0" + KEPT[6:],
        KEPT[:20],
        KEPT[:-1],
        KEPT + b"\0",
    ],
)
def test_a_record_that_was_damaged_is_refused(damaged: bytes) -> None:
    with pytest.raises(LedgerDamaged):
        list(parsed([damaged]))


def test_records_of_one_kind_are_of_one_length() -> None:
    with pytest.raises(LedgerDamaged, match="cut short or too long"):
        list(parsed([KEPT, KEPT[:-1]]))
