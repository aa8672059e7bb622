"""The exact law of everything that leaves, by running the product.

A run takes the way of the agent: messages -> `Decoder` -> `Pipeline` -> `Encoder` -> `Intake` ->
`Outbox` -> the producer's batches. Only BLAKE2b under a key is another one here: a random function,
as claim 7 takes it to be, of which every value is tried, each with its exact chance. So a law is
found by running all there is, not by knowing how the product makes noise.

**What is exact.** All losses are whole multiples of `LN_2` for a step. The law has one half in
place of `exp(-LN_2)`, which differs from it by less than a billionth: so each chance is a fraction,
each said bound a power of two, and nothing is rounded. The cells are those of that law, written
anew here. What the product gets to read is the point amidst each of them, so its own thresholds
would have to be off by half a cell to go unnoticed; `privacy/test_mechanism.py` sees to that.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import math
from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from aiokafka import TopicPartition

from meteragent.formats.decoder import Decoder
from meteragent.formats.encoder import Encoder
from meteragent.kafka.intake import Intake
from meteragent.kafka.outbox import Headers, send
from meteragent.kafka.outbox import Record as Outgoing
from meteragent.kafka.owner import Bond, Generation, Layout
from meteragent.kafka.restore import metadata
from meteragent.kafka.unpack import Unpacker
from meteragent.privacy import entropy
from meteragent.privacy.ledger_record import OPEN_WINDOWS, behind
from meteragent.stream.pipeline import START, Pipeline, Position
from tests.batches import Stored, fetched
from tests.given import KEY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aiokafka import AIOKafkaProducer

    from meteragent.config import Config
    from meteragent.watch.events import Listener

LN_2 = Decimal("0.69314718")
"""What halves the odds, as a policy can ask for it."""
BEGIN = 1_763_424_000_000
"""A window of every policy begins here: it is midnight."""
SKEW, MOST_METERS = 1000, 9
BOND = Bond("ledger", 0, "key", Layout(1), Generation(1, "settings"))
"""Of a ledger and a configuration that are the same in every world."""
SOURCE = TopicPartition("meter.readings", 0)
UNPACKER = Unpacker(Decoder())

Watts = float | None
World = tuple[Watts, ...]
"""What is secret: the readings of a log in its order, some of them absent."""


# The random function.


class Cell(NamedTuple):
    """A part of the uniform numbers that all mechanisms take alike."""

    word: int
    chance: Fraction


def cells(laws: Sequence[tuple[int, int]]) -> list[Cell]:
    """For noise that halves `n` times at each level, on levels up to `top`: all (n, top)."""
    bounds = {Fraction(0), Fraction(1)}
    for halvings, top in laws:
        alpha = Fraction(1, 2**halvings)
        tails = [alpha**beyond / (1 + alpha) for beyond in range(1, top + 1)]
        bounds |= {*tails, *(1 - tail for tail in tails)}
    return [
        Cell(math.floor((low + high) / 2 * 2**64), high - low)
        for low, high in itertools.pairwise(sorted(bounds))
    ]


class Choices:
    """Every way to choose, one after the other; what is asked may depend on earlier answers."""

    def __init__(self) -> None:
        self._path: list[list[int]] = []
        self._at = 0

    @property
    def ways(self) -> int:
        """How many there are, if what is asked does not depend on the answers."""
        return math.prod(count for _, count in self._path)

    def choose(self, count: int) -> int:
        if self._at == len(self._path):
            self._path.append([0, count])
        choice, same = self._path[self._at]
        assert same == count
        self._at += 1
        return choice

    def next(self) -> bool:
        """Begin anew with the next way; answer whether there is one."""
        assert self._at == len(self._path)
        while self._path and self._path[-1][0] + 1 == self._path[-1][1]:
            self._path.pop()
        if self._path:
            self._path[-1][0] += 1
        self._at = 0
        return bool(self._path)


class RandomFunction:
    """Stands in for BLAKE2b: under a key, each input has a value of its own, drawn once."""

    SALT_SIZE = hashlib.blake2b.SALT_SIZE
    PERSON_SIZE = hashlib.blake2b.PERSON_SIZE

    def __init__(self, words: Mapping[bytes, int], drawn_from: Sequence[Cell]) -> None:
        """`words` says how many are read of a window, by the policy's digest."""
        self._words = words
        self._cells = drawn_from
        self.begin()

    def begin(self) -> None:
        """Forget everything."""
        self._choices = Choices()
        self._forget()

    def next(self) -> bool:
        """Begin anew, with other values; answer whether there are any."""
        self._forget()
        return self._choices.next()

    @property
    def ways(self) -> int:
        """How many values there are of all that was asked for."""
        return self._choices.ways

    def _forget(self) -> None:
        self._known: dict[tuple[bytes, ...], bytes] = {}
        self.chance = Fraction(1)
        """Of what was drawn so far."""

    def __call__(
        self,
        data: bytes = b"",
        *,
        digest_size: int = 64,
        key: bytes = b"",
        salt: bytes = b"",
        person: bytes = b"",
    ) -> Any:  # noqa: ANN401 - one of hashlib's, or ours
        if not key:
            return hashlib.blake2b(data, digest_size=digest_size)
        assert digest_size == 64
        return _Hashed(self, (key, salt, person), data)

    def value(self, asked: tuple[bytes, ...]) -> bytes:
        if asked not in self._known:
            _, salt, person, _ = asked
            assert not any(salt), "so many words are never read"
            drawn = [self._draw() for _ in range(self._words[person])]
            unread = [0] * (entropy.WORDS_PER_BLOCK - len(drawn))
            self._known[asked] = b"".join(w.to_bytes(8, "little") for w in (*drawn, *unread))
        return self._known[asked]

    def _draw(self) -> int:
        cell = self._cells[self._choices.choose(len(self._cells))]
        self.chance *= cell.chance
        return cell.word


class _Hashed:
    """What is being hashed."""

    def __init__(self, function: RandomFunction, under: tuple[bytes, ...], data: bytes) -> None:
        self._function, self._under, self._data = function, under, data

    def copy(self) -> _Hashed:
        return _Hashed(self._function, self._under, self._data)

    def update(self, data: bytes) -> None:
        self._data += data

    def digest(self) -> bytes:
        return self._function.value((*self._under, self._data))


# What comes in.


class Message(NamedTuple):
    """What is sent to the input: secret readings, unless it says something `known`.

    Times are seconds after `BEGIN`.
    """

    written: int
    at: tuple[int, ...] = ()
    """When its readings were taken; several ones make a block."""
    meter: str = "home"
    known: bytes | None = None
    in_kilowatts: bool = False

    def payload(self, watts: World) -> bytes | None:
        """Nothing is sent if its only reading is absent."""
        if not self.at or watts == (None,):
            return self.known
        written = [None if w is None else w / 1000 if self.in_kilowatts else w for w in watts]
        fields: dict[str, object] = {"meter_id": self.meter}
        if len(written) == 1:
            fields |= {"ts": BEGIN + 1000 * self.at[0], "value": written[0]}
        else:
            apart = 1000 * (self.at[1] - self.at[0])
            fields |= {"start": BEGIN + 1000 * self.at[0], "interval_ms": apart, "values": written}
        return json.dumps(fields | ({"unit": "kW"} if self.in_kilowatts else {})).encode()


class Moment(NamedTuple):
    """What was written by then is taken in and committed."""

    at: int
    caught_up: bool = False
    """Then time itself closes windows: nothing more has come."""
    aborted: bool = False
    """It is not committed after all, though some have read it; the agent starts anew."""


@dataclass(frozen=True)
class Story:
    """All that is public: settings, who sends when, and what the agent goes through."""

    config: Config
    log: tuple[Message, ...]
    moments: tuple[Moment, ...]
    fetched: int = 2**20
    """Bytes of the input that come at once, at least one record."""

    def records(self, world: World) -> list[Stored]:
        """The input as the brokers hold it."""
        left = iter(world)
        records: list[Stored] = []
        for message in self.log:
            value = message.payload(tuple(itertools.islice(left, len(message.at))))
            if value is not None:
                written, offset = BEGIN + 1000 * message.written, len(records)
                records.append(Stored(value, offset, written))
        assert not list(left)
        return records

    def clocks(self, world: World) -> list[int]:
        """The newest time that was told by each moment, in milliseconds since the epoch."""
        told = [(r.timestamp, _newest(r.value or b"", r.timestamp)) for r in self.records(world)]
        return [
            max((time for at, time in told if at <= BEGIN + 1000 * moment.at), default=0)
            for moment in self.moments
        ]


def _newest(message: bytes, written: int) -> int:
    """The time of its last reading, or 0 if it is rejected."""
    said = json.loads(message)
    values = said.get("values", [said.get("value")])
    time: int = said.get("start", said.get("ts")) + (len(values) - 1) * said.get("interval_ms", 0)
    good = any(value is not None for value in values) and time <= written + SKEW
    return time if good else 0


# What goes out.


class Kept(NamedTuple):
    """A record in a topic."""

    key: bytes
    value: bytes
    timestamp: int | None
    """None: that of the sending."""
    headers: tuple[tuple[str, bytes], ...]


class Carried(NamedTuple):
    """A transaction."""

    committed: bool
    topics: tuple[tuple[str, tuple[Kept, ...]], ...]
    """By name; those in which nothing is written are left out."""
    offset: int
    metadata: str


class Record(NamedTuple):
    """Everything that a run leaves behind."""

    transactions: tuple[Carried, ...]
    told: tuple[str, ...]
    """The events, from which metrics and log are made."""


class _Topics:
    """Takes batches as a producer does."""

    def __init__(self) -> None:
        self.written: dict[str, list[Kept]] = defaultdict(list)

    def create_batch(self) -> _Batch:
        return _Batch()

    async def send_batch(self, batch: _Batch, topic: str, *, partition: int) -> None:
        assert partition == SOURCE.partition
        self.written[topic] += batch.records


class _Batch:
    def __init__(self) -> None:
        self.records: list[Kept] = []

    def append(
        self, *, key: bytes, value: bytes, timestamp: int | None, headers: Headers = ()
    ) -> object:
        self.records.append(Kept(key, value, timestamp, (*headers,)))
        return self

    def record_count(self) -> int:
        return len(self.records)

    def close(self) -> None: ...


class _Agent:
    """A partition's worker in a story, from one start to the next."""

    def __init__(self, story: Story, world: World) -> None:
        self._story = story
        self._input = story.records(world)
        self._committed = START
        self._ledger: dict[str, bytes] = {}
        self._transactions: list[Carried] = []
        self._told: list[str] = []
        self._start()

    def _start(self) -> None:
        config = self._story.config
        pipeline = Pipeline(
            config.assigned, KEY, max_skew=SKEW, max_meters=MOST_METERS, start=self._committed
        )
        pipeline.restore(self._ledger)
        tell: Listener = lambda event: self._told.append(repr(event))  # noqa: E731
        self._intake = Intake(SOURCE, pipeline, UNPACKER, Encoder(), config.outputs, tell)

    async def run(self) -> Record:
        for moment in self._story.moments:
            await self._take(BEGIN + 1000 * moment.at)
            if moment.caught_up:
                self._intake.pass_time(BEGIN + 1000 * moment.at)
            if moment.aborted:
                await self._publish(committed=False)
                self._start()
            else:
                await self._commit()
        return Record(tuple(self._transactions), tuple(self._told))

    async def _take(self, until: int) -> None:
        """As much at once as is fetched."""
        while batch := self._fetch(until):
            await self._intake.take(fetched(batch))
            while self._intake.busy:
                await self._commit()

    def _fetch(self, until: int) -> list[Stored]:
        left = self._story.fetched
        batch: list[Stored] = []
        for record in self._input[self._intake.next :]:
            left -= len(record.value or b"")
            if record.timestamp > until or (batch and left < 0):
                break
            batch.append(record)
        return batch

    async def _commit(self) -> None:
        position = await self._publish(committed=True)
        await self._intake.go_on(position)
        if self._intake.busy or self._intake.waiting:
            await self._commit()

    async def _publish(self, *, committed: bool) -> Position:
        outbox, position = await self._intake.empty()
        kafka, topics = self._story.config.kafka, _Topics()
        for topic, records in (
            *outbox.releases.items(),
            (kafka.ledger, [*map(spent, outbox.ledger())]),
            (kafka.rejected, outbox.rejects),
        ):
            await send(cast("AIOKafkaProducer", topics), topic, SOURCE.partition, records)
        written = sorted((topic, tuple(kept)) for topic, kept in topics.written.items())
        self._transactions.append(
            Carried(committed, tuple(written), position.offset, metadata(position, BOND))
        )
        if committed:
            self._ledger |= outbox.accounts
            self._committed = position
        return position


def spent(kept: Outgoing) -> Outgoing:
    """What an account has spent: open windows stand behind it, which are as secret as readings."""
    account = kept.value
    [tail] = behind([account]) if account else [b""]
    if account and tail.startswith(OPEN_WINDOWS):
        account = account.removesuffix(tail)
    return kept._replace(value=account)


# The law of it; the random function stands in for BLAKE2b already.

Law = dict[Record, Fraction]


def runs_of(story: Story, world: World, function: RandomFunction) -> int:
    """How many runs its law takes."""
    function.begin()
    asyncio.run(_Agent(story, world).run())
    return function.ways


def law_of(story: Story, world: World, function: RandomFunction) -> Law:
    """How likely each record is."""

    async def every_run() -> Law:
        law: dict[Record, Fraction] = defaultdict(Fraction)
        function.begin()
        while True:
            record = await _Agent(story, world).run()
            law[record] += function.chance
            if not function.next():
                return law

    law = asyncio.run(every_run())
    assert sum(law.values()) == 1
    return law
