"""Nobody's garbage harms a neighbour, and nothing of what comes in can be read anywhere outside."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

import pytest
from aiokafka import AIOKafkaProducer

from meteragent.stream.homes import Homes
from meteragent.stream.readings import Reason
from tests.integration.fleet import Agent, Fleet
from tests.integration.load import AHEAD, INTERVAL
from tests.integration.oracle import assert_exactly_once, read

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.integration

WORD = "s3cr3t-l0ad"
"""Stands in what is rejected: may be read nowhere."""
HOME = "v1lla-7b"
"""Stands in the ids of good meters: may be read where releases and accounts are."""
WATTS = "2719.0625"
KILOWATTS = "2.7190625"
"""The value of all readings, in either unit: may be read nowhere."""

PARTITIONS = 2
HOMES = Homes("murmur2", PARTITIONS)
STEPS = 12
"""Four windows of 30 s."""
METERS = [
    *(f"{HOME}-{number}" for number in range(30)),
    *(
        f"{HOME}-{odd}"
        for odd in ("🏠", "שלום", "\u202eabc", "a\u200bb", "'\"\\<&>%s{}", "e\u0301")
    ),
    *(HOME + "x" * (128 - len(HOME)), HOME + "🏠" * (128 - len(HOME))),
    *(f"p-{HOME}", f"h-{HOME}"),
]
DEEP = 10_000
LARGE = 900_000
HUGE = 10_000_000
MOST = 2 * HUGE
"""Bytes of a record that the topic takes."""
TIMES = 150
"""Of each kind of small garbage."""


BLOCK: dict[str, object] = {"meter_id": WORD, "start": 0, "interval_ms": INTERVAL}


def written(**fields: object) -> bytes:
    """A record that would be good, but for these fields; bytes stand for themselves."""
    all_fields = {"meter_id": f'"{WORD}"', "ts": "1763424000000", "value": WATTS} | {
        name: given.decode("latin-1") if isinstance(given, bytes) else json.dumps(given)
        for name, given in fields.items()
    }
    pairs = ", ".join(f'"{name}": {text}' for name, text in all_fields.items())
    return f"{{{pairs}}}".encode("latin-1")


SMALL: list[tuple[Reason, bytes | None]] = [
    (Reason.EMPTY, None),
    (Reason.EMPTY, b""),
    (Reason.NOT_UTF8, written(meter_id=b'"' + WORD.encode() + b'\xff"')),
    (Reason.NOT_UTF8, written(unit=b'"\xed\xa0\x80"')),
    (Reason.NOT_JSON, written()[:-1]),
    (Reason.NOT_JSON, written() + written()),
    (Reason.NOT_JSON, f"{WORD} {WATTS}".encode()),
    (Reason.NOT_JSON, written(value=b"0" + WATTS.encode())),
    (Reason.NOT_JSON, written(extra=b"[" * DEEP + b"]" * DEEP)),
    (Reason.WRONG_SHAPE, b"[" + written() + b"]"),
    (Reason.WRONG_SHAPE, f'"{WORD}"'.encode()),
    (Reason.WRONG_SHAPE, WATTS.encode()),
    (Reason.WRONG_SHAPE, f'{{"meter_id": "{WORD}", "value": {WATTS}}}'.encode()),
    (Reason.BAD_METER, written(meter_id=float(WATTS))),
    (Reason.BAD_METER, written(meter_id=f"{WORD}\n")),
    (Reason.BAD_METER, written(meter_id=f"\x1b[31m{WORD}")),
    (Reason.BAD_METER, written(meter_id=f"{WORD}\x85")),
    (Reason.BAD_METER, written(meter_id=WORD + "x" * 128)),
    (Reason.BAD_METER, written(meter_id="", note=WORD)),
    (Reason.BAD_TIME, written(ts=2**70)),
    (Reason.BAD_TIME, written(ts=-1)),
    (Reason.BAD_TIME, written(ts=WORD)),
    (Reason.BAD_TIME, written(ts=True)),
    (Reason.BAD_VALUE, written(value=b"NaN")),
    (Reason.BAD_VALUE, written(value=b"-Infinity")),
    (Reason.BAD_VALUE, written(value=b"1e400")),
    (Reason.BAD_VALUE, written(value=WATTS)),
    (Reason.BAD_VALUE, written(value=[float(WATTS), WORD])),
    (Reason.BAD_VALUE, written(value=None)),
    (Reason.BAD_VALUE, written()[:-1] + f', "value": "{WORD}"}}'.encode()),
    (Reason.BAD_UNIT, written(unit=WORD)),
    (Reason.BAD_UNIT, written(unit=["W"])),
]
LARGER = [
    (Reason.TOO_LARGE, written(note=WORD + "x" * HUGE)),
    (Reason.NOT_JSON, b"[" * LARGE),
    (Reason.BAD_METER, written(meter_id=WORD * (LARGE // len(WORD)))),
    (Reason.BAD_VALUE, written(value=WORD * (LARGE // len(WORD)))),
    (Reason.NOT_UTF8, b"\xff" * LARGE),
    (Reason.NOT_JSON, written(value=b"9" * LARGE)),
    (Reason.BAD_VALUE, json.dumps(BLOCK | {"values": [None] * 100_001}).encode()),
]


def blocks_and_futures(now: int) -> list[tuple[Reason, bytes | None]]:
    """What only the clock makes bad, and blocks."""
    return [
        (Reason.FUTURE, written(ts=now + 40 * 86_400_000)),
        (Reason.FUTURE, written(ts="2999-01-01T00:00:00Z")),
        (Reason.BAD_INTERVAL, json.dumps(BLOCK | {"interval_ms": 0, "values": [1]}).encode()),
        (Reason.BAD_INTERVAL, json.dumps(BLOCK | {"interval_ms": WORD, "values": [1]}).encode()),
        (Reason.BAD_VALUE, json.dumps(BLOCK | {"values": []}).encode()),
        (Reason.BAD_VALUE, json.dumps(BLOCK | {"values": [float(WATTS), WORD]}).encode()),
    ]


def good(meter: str, time_of: int, draw: random.Random) -> bytes:
    """A reading as odd as it may be."""
    fields = {"meter_id": json.dumps(meter), "ts": str(time_of), "value": WATTS}
    if draw.random() < 0.3:
        fields |= {"value": KILOWATTS, "unit": '"kW"'}
    if draw.random() < 0.3:
        fields |= {"extra": json.dumps({"note": [HOME, None, {"deep": HOME}]})}
    pairs = [f'"{name}": {text}' for name, text in fields.items()]
    if draw.random() < 0.3:
        pairs.insert(0, f'"value": "{HOME}"')  # the last one counts
    return f"{{{', '.join(pairs)}}}".encode()


@dataclass
class Mixture:
    """What is sent to each partition, and how it is to be judged."""

    now: int
    values: list[tuple[int, bytes, bytes | None]] = field(default_factory=list)
    """(partition, key, value)"""
    reasons: list[Reason | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        draw = random.Random(9)
        bad = [*(SMALL + blocks_and_futures(self.now)) * TIMES, *LARGER]
        draw.shuffle(bad)
        begin = (self.now + AHEAD) // 60_000 * 60_000
        slots = [(step, meter) for step in range(STEPS) for meter in METERS]
        share = len(bad) // len(slots) + 1
        for step, meter in slots:
            partition = HOMES.of(meter)
            for reason, value in [bad.pop() for _ in range(min(share, len(bad)))]:
                self._add(draw.randrange(PARTITIONS), WORD, value, reason)
            self._add(partition, meter, good(meter, begin + step * INTERVAL, draw), None)
        for partition in range(PARTITIONS):
            names = (f"{HOME}-flush-{number}" for number in count())
            last = next(name for name in names if HOMES.of(name) == partition)
            flush = good(last, begin + 600_000, draw)
            self._add(partition, HOME, flush, None)

    def _add(self, partition: int, key: str, value: bytes | None, reason: Reason | None) -> None:
        self.values.append((partition, key.encode(), value))
        self.reasons.append(reason)

    async def send(self, servers: str, topic: str) -> dict[tuple[int, int], Reason]:
        """Send it all; where each bad record came to stand."""
        headers = [(WORD, f"{WORD} {WATTS}".encode())]
        async with AIOKafkaProducer(
            bootstrap_servers=servers, linger_ms=20, max_request_size=MOST
        ) as producer:
            sent = [
                await producer.send(topic, value, key=key, partition=partition, headers=headers)
                for partition, key, value in self.values
            ]
            where = [await one for one in sent]
        return {
            (at.partition, at.offset): reason
            for at, reason in zip(where, self.reasons, strict=True)
            if reason
        }


async def shown(agent: Agent) -> dict[str, bytes]:
    """Everything that a process shows, by where it shows it."""
    paths = ("/", "/status.json", "/metrics", "/healthz", "/readyz", "/nothing")
    pages = {path: "\n".join(map(str, await agent.shows(path))).encode() for path in paths}
    return pages | {"log": agent.log.read_bytes()}


async def published(fleet: Fleet, topic: str) -> bytes:
    """Everything that stands in a topic, aborted records too."""
    partitions = 1 if topic == fleet.config.kafka.policies else PARTITIONS
    records = [
        record
        for partition in range(partitions)
        for record in await read(fleet.servers, topic, partition, "read_uncommitted")
    ]
    return b"\n".join(
        part
        for record in records
        for part in (record.key, record.value, repr(record.headers).encode())
        if part
    )


def leaks(where: dict[str, bytes], *markers: str) -> list[tuple[str, str]]:
    return [(name, m) for name, text in where.items() for m in markers if m.encode() in text]


def test_garbage_is_counted_and_shows_nowhere(tmp_path: Path, kafka: str) -> None:
    async def scenario() -> None:
        fleet = Fleet(tmp_path, kafka, PARTITIONS, kafka='[log]\nlevel = "debug"\n')
        await fleet.create()
        try:
            await judge(fleet)
        finally:
            await fleet.kill()

    asyncio.run(scenario())


async def judge(fleet: Fleet) -> None:
    names = fleet.config.kafka
    mixture = Mixture(int(time.time() * 1000))
    settings = {"message_timestamp_type": "LogAppendTime", "max_message_bytes": str(MOST)}
    await fleet.alter(names.input, **settings)
    agent = await fleet.start()
    await agent.becomes("ready")
    # Errors that hold records are the ones to fear most: let there be some.
    await fleet.alter(names.output, max_message_bytes="100")
    bad = await mixture.send(fleet.servers, names.input)
    await agent.says("partition failed", error="MessageSizeTooLargeError")
    await fleet.alter(names.output, max_message_bytes="1048588")
    await fleet.all_done()
    outside = await shown(agent)
    await fleet.stop()
    outside["log"] = agent.log.read_bytes()

    await assert_exactly_once(fleet.servers, fleet.config, PARTITIONS)
    assert len(bad) > 5000
    assert await rejects(fleet) == Counter(bad.items())
    plain = [meter for meter in METERS if meter.startswith(HOME)]
    assert await whole_windows(fleet) == dict.fromkeys(plain, STEPS // 3)
    assert counted(outside["/metrics"]) >= Counter(bad.values())

    outside[names.rejected] = await published(fleet, names.rejected)
    outside[names.policies] = await published(fleet, names.policies)
    assert not leaks(outside, HOME, "v1lla")
    outside[names.output] = await published(fleet, names.output)
    outside[names.ledger] = await published(fleet, names.ledger)
    assert not leaks(outside, WORD, "s3cr3t", WATTS, KILOWATTS, "719.06", "7190625")
    assert all(outside.values())
    came_in = {names.input: await published(fleet, names.input)}
    assert len(leaks(came_in, WORD, WATTS, KILOWATTS, HOME)) == 4
    assert leaks(outside, HOME) == [(names.output, HOME), (names.ledger, HOME)]


async def rejects(fleet: Fleet) -> Counter[tuple[tuple[int, int], Reason]]:
    """What was rejected, by its coordinates."""
    found = [
        json.loads(record.value)
        for partition in range(PARTITIONS)
        for record in await read(fleet.servers, fleet.config.kafka.rejected, partition)
    ]
    assert {(*document,) for document in found} == {
        ("schema", "topic", "partition", "offset", "reason")
    }
    return Counter(((d["partition"], d["offset"]), Reason(d["reason"])) for d in found)


async def whole_windows(fleet: Fleet) -> Counter[str]:
    """How many windows with all their readings each meter of the plain policy got."""
    documents = [
        json.loads(record.value)
        for partition in range(PARTITIONS)
        for record in await read(fleet.servers, fleet.config.kafka.output, partition)
    ]
    whole = (d["meter_id"] for d in documents if d.get("readings") == "all")
    return Counter(meter for meter in whole if meter.startswith(HOME))


def counted(metrics: bytes) -> Counter[Reason]:
    """The rejects that were counted; partitions that were built anew count again."""
    return Counter(
        {
            reason: int(float(line.rpartition(" ")[2]))
            for line in metrics.decode().splitlines()
            for reason in Reason
            if line.startswith("meteragent_") and f'reason="{reason.value}"' in line
            if "created" not in line
        }
    )
