"""What meters write: drawn trouble, and the days of simulated homes and televisions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from simulations.home.house import Home
from simulations.tv.displays import LCD
from simulations.tv.programmes import GENRES, programme, spots
from tests.formats.payloads import Payloads

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from random import Random

BEGIN = 1_763_424_000_000  # a whole day
SKEW = 30_000
METERS = ("m-17", "fuse", "zähler-7", "h-1", "h-2", "🏠")
WATTS = (0, 17, -250.5, 1796, 95.25, 24_000, 99_999, 3.5)


class Message(NamedTuple):
    """What a broker holds."""

    value: bytes | None
    timestamp: int


def troubled(draw: Random, interval: int, count: int, meters: Sequence[str]) -> list[Message]:
    """Readings and blocks that come late, twice, early, with gaps, in kW; and some that are bad.

    Each is written an interval after it could be measured. The first is none of these: from
    1970 until now there are too many windows.
    """
    written = [Message(_document(draw, interval, BEGIN, meters), BEGIN + interval)]
    attackers = Payloads(draw, accounts=False)
    now = BEGIN
    for _ in range(count):
        now += draw.choice((0, 0, 0, 1, 1, 2, 2, 5)) * interval // 4
        now += draw.randrange(20, 400) * interval if draw.random() < 0.01 else 0
        late = draw.choice((0, 0, 0, 0, 0, 0, 1, 1, 4, 40)) * interval
        chance = draw.random()
        value: bytes | None = _document(draw, interval, now - late, meters)
        if chance < 0.02:
            value = attackers.any()
        elif chance < 0.05:
            value = draw.choice(written).value
        elif chance < 0.06:
            value = _document(draw, interval, now + 2 * interval + 2 * SKEW, meters)
        written.append(Message(value, now + interval))
    return written


def _document(draw: Random, interval: int, time: int, meters: Sequence[str]) -> bytes:
    fields: dict[str, object] = {"meter_id": draw.choice(meters)}
    if draw.random() < 0.8:
        fields |= {"ts": time + draw.randrange(interval), "value": _watts(draw)}
    else:
        count = draw.choice((1, 2, 7, 30))
        spacing = draw.choice((interval, interval, interval, max(1, interval // 3), 5 * interval))
        values = [None if draw.random() < 0.2 else _watts(draw) for _ in range(count)]
        start = time - draw.choice((0, count - 1)) * spacing
        fields |= {"start": start, "interval_ms": spacing, "values": values}
    if draw.random() < 0.1:
        fields["unit"] = draw.choice(("W", "kW"))
    return json.dumps(fields, ensure_ascii=draw.random() < 0.5).encode()


def _watts(draw: Random) -> float:
    return draw.choice(WATTS) if draw.random() < 0.5 else round(draw.random() * 4000, 2)


def homes(number: int, days: int, interval: int, block: int) -> list[Message]:
    """Some days of some homes in blocks: with people, heat pumps, cars, and the sun."""
    written: list[Message] = []
    for name in (f"home-{one}" for one in range(number)):
        home = Home.draw(7, int(name[5:]), having=("pv",) if name == "home-0" else ())
        life = home.live(days, interval=interval)
        written += blocks(name, life.begin, interval, life.trace().watts, block)
    return sorted(written, key=lambda message: message.timestamp)


def evening(sets: int, seconds: int) -> list[Message]:
    """Television sets, a reading each two seconds."""
    draw = np.random.default_rng(11)
    season = spots(draw)
    written: list[Message] = []
    for one in range(sets):
        light = programme(draw, GENRES[one % len(GENRES)], seconds, season)
        watts = LCD.watts(light[np.newaxis])[0][::2]
        written += blocks(f"tv-{one}", BEGIN + 500 * one, 2000, watts, 1)
    return sorted(written, key=lambda message: message.timestamp)


def blocks(
    name: str, begin: int, interval: int, watts: Iterable[float], block: int
) -> list[Message]:
    """A trace as its meter would send it, rounded to tenths of a watt."""
    written, tenths = [], [round(float(value), 1) for value in watts]
    for first in range(0, len(tenths), block):
        values = tenths[first : first + block]
        fields: dict[str, object] = {"meter_id": name, "ts": begin, "value": values[0]}
        if block > 1:
            fields = {"meter_id": name, "start": begin, "interval_ms": interval, "values": values}
        begin += len(values) * interval
        written.append(Message(json.dumps(fields).encode(), begin))
    return written
