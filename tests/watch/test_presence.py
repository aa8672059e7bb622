"""Where presence is private, nothing on the untrusted side tells who was heard.

Two worlds differ in which readings are there, and in nothing else: as many records, as new. All
that leaves is compared: documents in their order, with their timestamps, but for the values; the
metrics, the log and the status page.
"""

from __future__ import annotations

import json
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import pytest
from structlog.testing import capture_logs

from meteragent.watch.status import Status
from tests.watch.stage import BEGIN, MINUTE, Stage, block, config

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from meteragent.config import Config

MINUTES = 30
PRIVATE = """
[[policy]]
name = "homes"
presence = "private"
window = "{window}"
interval = "10s"
grace = "10s"
idle = "70s"
maximum = "24kW"
queries = ["avg", {{ query = "max", epsilon = "0.5" }}]
epsilon = "1"
budget = "20"
horizon = "15m"
[[policy]]
name = "flats"
match = "flat-"
presence = "private"
window = "2m"
hop = "1m"
interval = "10s"
grace = "0s"
idle = "90s"
maximum = "6kW"
queries = ["reading"]
epsilon = "1"
budget = "400"
horizon = "15m"
"""


class Seen(NamedTuple):
    """What is on the untrusted side."""

    documents: list[tuple[bytes, int | None, object]]
    metrics: list[str]
    lines: list[object]
    page: object


def played(settings: Config, records_of: Callable[[int], Iterable[bytes]]) -> Seen:
    """A partition for half an hour; what has been published, counted and said of it."""
    documents: list[tuple[bytes, int | None, object]] = []
    metrics, pages = [], []
    with capture_logs() as lines:
        stage = Stage(settings)
        for minute in range(MINUTES):
            stage.now = (BEGIN + (minute + 1) * MINUTE) / 1000
            stage.read(0, records_of(minute))
            stage.commit(0)
            metrics.append(stage.monitor.series.expose()[0].decode())
            status = Status(settings, stage.monitor, stage, wall=lambda: stage.now)
            pages.append(status.document() | {"up_seconds": 0})
    for key, text, time, _ in stage.published:
        document = json.loads(text or b"")
        for answers in ("values", "unbiased"):
            document[answers] = [*document[answers]]
        documents.append((key, time, document))
    return Seen(documents, metrics, list(lines), pages)


def heard(minute: int) -> list[bytes]:
    """Everybody, always; one meter's clock is ahead of the others'."""
    meters = ("c", "a", "flat-2", "flat-1")
    return [*(block(meter, minute, [400.0] * 6) for meter in meters), block("z", minute, [1.0] * 6)]


def absent_readings(minute: int) -> list[bytes]:
    """Blocks come, and half of them say nothing, or not all."""
    if minute < 2:
        return heard(minute)
    draw = Random(minute)
    gaps = [block(meter, minute, [draw.choice([None, 400.0]) for _ in range(6)]) for meter in "ca"]
    flats = [block(flat, minute, [None] * 6) for flat in ("flat-2", "flat-1")]
    return [*gaps, *flats, block("z", minute, [1.0] * 6)]


def silent_meters(minute: int) -> list[bytes]:
    """Some are silent for minutes; another is heard in their stead, twice or late."""
    if minute < 2:
        return heard(minute)
    records = heard(minute)
    if 5 <= minute < 12:
        records[0] = block("a", minute, [400.0] * 6)
    if minute % 3 == 0:
        records[1:4] = [block("c", max(0, minute - 20), [7.0] * 6)] * 3
    if minute > 20:
        records[2] = block("flat-1", minute - 1, [9.0] * 6)
    return records


@pytest.mark.parametrize("window", ["1m", "5m"])
@pytest.mark.parametrize("other", [absent_readings, silent_meters])
def test_two_worlds_that_differ_in_presence_look_the_same(
    other: Callable[[int], Iterable[bytes]], window: str
) -> None:
    settings = config(PRIVATE.format(window=window))
    one, two = played(settings, heard), played(settings, other)
    assert len(one.documents) > 40
    assert [key for key, _, _ in one.documents] == [key for key, _, _ in two.documents]
    assert one == two


def test_where_presence_is_public_the_same_worlds_do_not() -> None:
    settings = config(PRIVATE.format(window="1m").replace("private", "public"))
    one, two = played(settings, heard), played(settings, silent_meters)
    assert one.documents != two.documents
    assert one.metrics != two.metrics
    assert one.page != two.page


def test_releases_come_in_the_order_of_their_windows_and_carry_their_end() -> None:
    settings = config(PRIVATE.format(window="1m"))
    homes = [
        (time, key)
        for key, time, _ in played(settings, silent_meters).documents
        if not key.startswith(b"flat")
    ]
    assert all(one < other for one, other in pairwise(homes))
    flats = [
        (time, key, document["window_end"])  # type: ignore[index]
        for key, time, document in played(settings, silent_meters).documents
        if key.startswith(b"flat")
    ]
    assert all(one < other for one, other in pairwise(flats))
    assert all(time == end for time, _, end in flats)
