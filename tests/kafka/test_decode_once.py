"""Several kinds of work on one partition: each reads what it would alone, decoded once."""

from __future__ import annotations

import gc
from random import Random
from typing import TYPE_CHECKING
from unittest.mock import patch

import numpy as np
import pytest

from meteragent.config import from_document
from meteragent.kafka import decode_once
from meteragent.kafka.decode_once import DecodedOnce
from meteragent.kafka.unpack import Unpacker
from meteragent.kafka.walk import EVERYTHING, Fetched
from meteragent.stream.pipeline import Assigned, Pipeline
from tests.batches import batch
from tests.given import KEY, MINUTE, policy
from tests.kafka.given import TABLE
from tests.kafka.test_unpack import log

if TYPE_CHECKING:
    from pathlib import Path

    from meteragent.kafka.decode_once import SharedReader
    from meteragent.stream.readings import Readings


@pytest.fixture
def once(tmp_path: Path) -> DecodedOnce:
    return DecodedOnce(from_document({"policy": [TABLE]}, tmp_path, {}))


def chunks(seed: int) -> list[tuple[bytes, int]]:
    """Batches, and from which offset on each is."""
    some, draw, found = [*log(seed)][:900], Random(seed), []
    while some:
        size = draw.randrange(1, 60)
        now, some = some[:size], some[size:]
        found.append((batch(now, draw.randrange(5)), now[0].offset))
    return found


def fetches(seed: int, batches: list[tuple[bytes, int]]) -> list[Fetched]:
    """What one consumer gets of these: some batches at once, now and then from the midst on."""
    draw, found, left = Random(seed), [], batches
    while left:
        many = draw.randrange(1, 6)
        now, left = left[:many], left[many:]
        raw, spans = b"", []
        for one, _ in now:
            spans.append((len(raw), len(raw) + len(one)))
            raw += one
        first = now[0][1] + draw.choice((0, 0, 0, 3))
        until = left[0][1] - 2 if left and draw.random() < 0.1 else EVERYTHING
        found.append(Fetched(raw, tuple(spans), first, until))
        if draw.random() < 0.1:
            found.append(found[-1])  # read again
    return found


def told(readings: Readings | None) -> object:
    """All that it says."""
    if readings is None:
        return None
    columns = readings.offsets, readings.timestamps, readings.counts, readings.starts
    plain = [column.tolist() for column in (*columns, readings.intervals)]
    watts = np.nan_to_num(readings.watts, nan=-1).tolist()
    return [*readings.meters], plain, watts, readings.rejects, readings.next_offset


@pytest.mark.parametrize("seed", range(6))
def test_each_reads_what_it_would_alone(once: DecodedOnce, seed: int) -> None:
    batches, draw = chunks(seed), Random(seed)
    left = {nth: fetches(10 * seed + nth, batches) for nth in range(2)}
    readers = [once.reader(0) for _ in left]
    alone = Unpacker(once.decoder)
    for _ in range(sum(map(len, left.values()))):
        nth = draw.choice([nth for nth, its in left.items() if its])
        fetched = left[nth].pop(0)
        assert told(readers[nth].columns(fetched)) == told(alone.columns(fetched))


def decoded(readers: list[SharedReader], its: list[Fetched]) -> int:
    """How often anything is decoded, if all of them read the same, one step after the other."""
    with patch.object(Unpacker, "columns", autospec=True, side_effect=Unpacker.columns) as columns:
        for fetched in its:
            for reader in readers:
                reader.columns(fetched)
    return columns.call_count


def test_a_batch_is_decoded_once_for_all_who_are_there(once: DecodedOnce) -> None:
    its = [Fetched(raw, ((0, len(raw)),), first) for raw, first in chunks(1)]
    both = [once.reader(0), once.reader(0)]
    assert decoded(both, its) == len(its)
    assert once._partitions[0]._kept == []
    other = once.reader(1)
    assert decoded([other], its) == len(its)
    assert once._partitions[1]._kept == []
    del both[0]
    gc.collect()
    assert decoded(both, its) == len(its)
    assert once._partitions[0]._kept == []


def test_for_who_falls_behind_no_more_is_kept_than_a_little(once: DecodedOnce) -> None:
    its = [Fetched(raw, ((0, len(raw)),), first) for raw, first in chunks(2)]
    ahead, behind = once.reader(0), once.reader(0)
    with patch.object(decode_once, "MOST_KEPT", 100):
        assert decoded([ahead], its) == len(its)
        assert 0 < sum(map(len, once._partitions[0]._kept)) <= 100
        assert 0 < decoded([behind], its) < len(its)


def test_what_is_shared_is_not_changed_by_who_takes_it_in(once: DecodedOnce) -> None:
    one, two = once.reader(0), once.reader(0)
    pipeline = Pipeline([Assigned("", "all", policy())], KEY, max_skew=MINUTE, max_meters=99)
    for raw, first in chunks(3):
        fetched = Fetched(raw, ((0, len(raw)),), first)
        found = one.columns(fetched)
        assert found is not None
        before = told(found)
        for _ in pipeline.feed(found):
            pass
        assert told(found) == before
        assert two.columns(fetched) is found
