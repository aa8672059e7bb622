"""Bugs planted on purpose into the agent itself: the schedules must notice each."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from random import Random
from typing import NamedTuple
from unittest.mock import patch

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.structs import OffsetAndMetadata

from meteragent.config.kafka import Kafka
from meteragent.kafka import outbox, ownership, restore, worker
from meteragent.kafka.ahead import Ahead
from meteragent.kafka.clients import Clients
from meteragent.kafka.clock import BrokersClock, LastFetch
from meteragent.kafka.handover import Shared
from meteragent.kafka.intake import Intake
from meteragent.kafka.outbox import Outbox, Record
from meteragent.kafka.owner import Bond, Generation
from meteragent.kafka.ownership import Ownership
from meteragent.kafka.walk import Fetched
from meteragent.kafka.worker import Worker
from meteragent.privacy.arrays import Integers
from meteragent.privacy.entropy import NoiseKey
from meteragent.stream.branch import Branch
from meteragent.stream.cohort import Cohort
from meteragent.stream.partition import TABLE, Command, Event, Life, State
from meteragent.stream.pipeline import Pipeline, Position
from meteragent.stream.releases import Step
from tests.schedules.schedule import Kind

Bug = Callable[[], AbstractContextManager[object]]


def commits_before_delivery() -> AbstractContextManager[object]:
    """Records are handed over, and nobody looks whether they arrive."""

    async def send_all(
        producer: AIOKafkaProducer,
        kafka: Kafka,
        source: TopicPartition,
        waiting: Outbox,
        position: Position,
        bond: Bond,
    ) -> Bond:
        await producer.begin_transaction()
        for topic, records in (
            *waiting.releases.items(),
            (kafka.ledger, waiting.ledger()),
            (kafka.rejected, waiting.rejects),
        ):
            await outbox.send(producer, topic, source.partition, records)
        offset = OffsetAndMetadata(position.offset, restore.metadata(position, bond))
        await producer.send_offsets_to_transaction({source: offset}, kafka.group)
        return bond

    return patch.object(worker, "send_all", send_all)


def _table(
    *changes: tuple[State, Event, State, tuple[Command, ...]],
) -> AbstractContextManager[object]:
    table = TABLE | {(state, event): (after, commands) for state, event, after, commands in changes}
    return patch.object(worker, "Life", partial(Life, table))


def commits_at_once() -> AbstractContextManager[object]:
    """The table orders the commit together with the sending."""
    return _table(
        (State.RUNNING, Event.DUE, State.COMMITTING, (Command.SEND, Command.COMMIT)),
        (State.COMMITTING, Event.DELIVERED, State.COMMITTING, ()),
    )


def restores_before_fencing() -> AbstractContextManager[object]:
    """The table reads what is committed while a former owner can still commit."""
    return _table(
        (State.ASSIGNED, Event.BEGIN, State.RESTORING, (Command.RESTORE,)),
        (State.RESTORING, Event.RESTORED, State.FENCING, (Command.FENCE,)),
        (State.FENCING, Event.FENCED, State.RUNNING, (Command.SEEK,)),
        (State.FAILED, Event.RETRY, State.RESTORING, (Command.RESTORE,)),
    )


def passes_open_windows() -> AbstractContextManager[object]:
    """The offset of the next record is committed, though open windows need older ones."""
    real = Pipeline.position

    def position(self: Pipeline) -> Position:
        found = real(self)
        return replace(found, offset=self._processed, clock=self.clock)

    return patch.object(Pipeline, "position", position)


def carries_in_mind() -> AbstractContextManager[object]:
    """What a silent meter's panes hold is taken for written down, and is not."""
    real = Cohort.carry

    def carry(self: Cohort, branch: Branch, rows: Integers) -> Step | None:
        step = real(self, branch, rows)
        return step and replace(step, accounts=[])

    return patch.object(Cohort, "carry", carry)


def draws_anew() -> AbstractContextManager[object]:
    """The noise is not a function of the content: every pipeline that is built has its own."""
    real, dice = Shared.pipeline, Random(0)

    def pipeline(self: Shared, partition: int, start: Position) -> Pipeline:
        return real(replace(self, key=NoiseKey(dice.randbytes(32))), partition, start)

    return patch.object(Shared, "pipeline", pipeline)


def never_forgets() -> AbstractContextManager[object]:
    """An error does not throw memory away."""
    return patch.object(Worker, "_forget", lambda _: None)


def restores_aborted() -> AbstractContextManager[object]:
    """The ledger is read with what was aborted, or may yet be."""
    real = restore.accounts

    async def accounts(clients: Clients, partition: int) -> restore.Kept:
        everything = partial(clients.consumer, isolation_level="read_uncommitted")
        with patch.object(clients, "consumer", everything):
            return await real(clients, partition)

    return patch.object(restore, "accounts", accounts)


def leaves_ledger_out() -> AbstractContextManager[object]:
    """The ledger has no part in the transaction."""
    real = Outbox.ledger

    def ledger(outbox: Outbox) -> list[Record]:
        return real(replace(outbox, accounts={}))

    return patch.object(Outbox, "ledger", ledger)


def ticks_at_once() -> AbstractContextManager[object]:
    """The wall clock closes windows before it is committed that it does."""

    def pass_time(self: Intake, now: int) -> None:
        async def tick() -> None:
            async with self._whole:
                await self._collect(self.pipeline.tick(now), lambda: None)

        if not self._whole.locked() and not self._forgotten and self._before is None:
            tasks.append(asyncio.ensure_future(tick()))

    tasks: list[asyncio.Task[None]] = []
    return patch.object(Intake, "pass_time", pass_time)


def inherits_ruins() -> AbstractContextManager[object]:
    """A partition that comes back is gone on with, though its last commit did not end."""
    whole = property(lambda worker: worker.life.state is State.LOST, lambda _, __: None)
    return patch.object(Worker, "whole", whole, create=True)


def feeds_stale_records() -> AbstractContextManager[object]:
    """Records that were read before the partition was built anew are fed all the same."""
    real = Worker.take

    async def take(self: Worker, fetched: Fetched, sought: object) -> None:
        del sought
        await real(self, fetched, self.sought)

    return patch.object(Worker, "take", take)


def ticks_by_its_own_clock() -> AbstractContextManager[object]:
    """What the machine believes closes windows."""
    return patch.object(BrokersClock, "at", lambda self, _: int(1000 * self._wall()))


def believes_late_answers() -> AbstractContextManager[object]:
    """Nothing was left to read when an answer came, however long ago it was given."""

    def look(self: LastFetch, answer: object, now: float) -> None:
        if answer != self._answer:
            self.asked_after, self._answer = now, answer

    return patch.object(LastFetch, "look", look)


def forgets_generations() -> AbstractContextManager[object]:
    """Whoever comes last makes a partition its own."""

    def meet(self: Ownership, digest: str, newest: Generation) -> None:
        same = newest.digest == digest
        self._generation = newest if same else newest.followed_by(digest)

    return patch.object(Ownership, "_meet", meet)


def comes_back() -> AbstractContextManager[object]:
    """What was superseded takes over again when it is started again."""
    return patch.object(Generation, "over", lambda generation, *_: generation)


def takes_what_is_left() -> AbstractContextManager[object]:
    """A ledger that is new is taken for one that is empty."""
    return patch.object(ownership, "refuse_lost", lambda *_: None)


def forgets_what_waits() -> AbstractContextManager[object]:
    """Time passes over records that another thread is at work on."""
    return patch.object(Ahead, "holds", lambda *_: False)


def keeps_what_is_outdated() -> AbstractContextManager[object]:
    """What was polled before a seek is refused, with another seek, and so is what follows."""
    return patch.object(Ahead, "drop", lambda *_: None)


class Planted(NamedTuple):
    """A bug, and what is to be seen of it within so many seeds.

    They are so many that it would be missed once in a thousand times, were they drawn anew. Where
    that takes long, a seed in which it was seen is tried first.
    """

    plant: Bug
    seeds: int
    symptom: str
    kind: Kind = "punctual"
    seen: int = 0
    of_the_wheel: bool = False
    """Whether it cannot be seen where Python alone reads records."""

    @property
    def tried(self) -> list[int]:
        """The seeds, in this order."""
        return [self.seen, *(seed for seed in range(self.seeds) if seed != self.seen)]


BUGS = (
    Planted(commits_before_delivery, 100, "Broken"),
    Planted(commits_at_once, 50, "Broken"),
    Planted(restores_before_fencing, 300, "Broken"),
    Planted(passes_open_windows, 20, "lost"),
    Planted(carries_in_mind, 100, "lost"),
    Planted(draws_anew, 50, "a second draw"),
    Planted(never_forgets, 200, "Broken"),
    Planted(restores_aborted, 50, "the ledger of"),
    Planted(leaves_ledger_out, 20, "releases and no account"),
    Planted(inherits_ruins, 100, "Invalid state transition"),
    Planted(feeds_stale_records, 400, "Broken"),
    Planted(forgets_generations, 50, "an older configuration", "update"),
    Planted(comes_back, 150, "an older configuration", "update", seen=25),
    Planted(takes_what_is_left, 50, "Stalled", "loss"),
    Planted(ticks_at_once, 1000, "a second draw", "late", seen=299),
    Planted(ticks_by_its_own_clock, 200, "lost"),
    Planted(believes_late_answers, 600, "lost", seen=213),
    Planted(forgets_what_waits, 200, "lost", seen=14, of_the_wheel=True),
    Planted(keeps_what_is_outdated, 20, "lost", of_the_wheel=True),
)
