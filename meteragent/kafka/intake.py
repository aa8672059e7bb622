"""What a partition takes in, from its restore until it is forgotten, and what it has made of it."""

import asyncio
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping
from functools import partial

from aiokafka import TopicPartition

from meteragent.formats.encoder import reject_document
from meteragent.formats.forms import ReleaseEncoder
from meteragent.kafka.outbox import Headers, Outbox, Record, headers_of, record_of
from meteragent.kafka.portions import Portion
from meteragent.kafka.walk import Fetched
from meteragent.kafka.work import Unpacks
from meteragent.stream.pipeline import Pipeline, Position
from meteragent.stream.readings import Reason
from meteragent.stream.releases import Document, Step, stages
from meteragent.watch.decided import Verdicts
from meteragent.watch.events import BatchTaken, Listener


class Intake:
    """A pipeline with what it has made since the last transaction.

    It is fed by one task and emptied by another. The lock keeps them apart: a pipeline's
    position is whole only after the last of its steps. What makes too many releases for one
    transaction, such as a pause of private meters, is taken in portions: each is committed with
    the position from before all of them. Fed again from there, windows that a portion has
    decided stay decided, because the ledger says so.
    """

    def __init__(
        self,
        source: TopicPartition,
        pipeline: Pipeline,
        unpacker: Unpacks,
        encoder: ReleaseEncoder,
        outputs: Mapping[str, str],
        tell: Listener,
        silent: Container[Reason] = (),
    ) -> None:
        """Prepare; `outputs` says to which topic releases of a policy go, by its name.

        For these reasons rejects are counted, and no document says so: others write it.
        """
        self._silent = silent
        self.portion = Portion()
        """How much goes into one transaction."""
        self.pipeline = pipeline
        self.next = pipeline.position().offset
        """The record that it is to be fed next."""
        self._source = source
        self._tell = tell
        self._unpacker = unpacker
        self._encoder = encoder
        self._outputs = outputs
        self._headers: dict[str, Headers] = {}
        """Of releases, by their policy's name."""
        self._outbox = Outbox()
        self._whole = asyncio.Lock()
        self._forgotten = False
        self._stages: Iterator[Iterator[Step]] = iter(())
        self._taken: Callable[[], None] = _nothing
        """What is to be done when there are no more steps."""
        self._before: Position | None = None
        """The last whole position, while there are still steps."""

    @property
    def waiting(self) -> int:
        """How many releases and rejects wait to be committed."""
        return len(self._outbox)

    def forget(self) -> None:
        """Let go of everything: what is under way in here belongs to the past."""
        self._forgotten = True
        self._outbox = Outbox()

    def ahead(self, fetched: Fetched) -> Callable[[], object] | None:
        """What another thread may do of `take` before; nothing, if that is not worth it."""
        return self._unpacker.ahead(fetched)

    async def take(self, fetched: Fetched) -> None:
        """Feed records. An exception leaves the state in pieces: it must be forgotten.

        Precondition: not `busy`.
        """
        async with self._whole:
            readings = self._unpacker.columns(fetched)
            if readings is not None:
                self.next = readings.next_offset
                taken = partial(self._account_for, len(readings.offsets) + len(readings.rejects))
                await self._collect(self.pipeline.feed(readings), taken)

    def pass_time(self, now: int) -> None:
        """Let the wall clock close windows, once that is committed.

        Precondition: every record up to then was taken; while one is still under way, some
        later call will do.
        """
        if not self._whole.locked() and not self._forgotten and self._before is None:
            self.pipeline.announce(now)

    @property
    def busy(self) -> bool:
        """Whether a portion, or time, waits for a commit: nothing may be taken before."""
        return self._before is not None or self.pipeline.announced

    def is_full(self, most: int) -> bool:
        """Whether nothing more is to be taken before a commit: of so many, or at all."""
        return self.waiting >= min(most, self.portion.size) or self.busy

    async def go_on(self, committed: Position) -> None:
        """Take the next portion; or let time pass as it was announced, if this is committed."""
        async with self._whole:
            if self._before is not None:
                await self._take_portion()
            elif self.pipeline.announced:
                await self._collect(self.pipeline.keep(committed), _nothing)

    async def settle(self) -> None:
        """Wait for what is under way in here. Precondition: nobody feeds it any more."""
        async with self._whole:
            if self._forgotten:
                raise asyncio.CancelledError

    async def empty(self) -> tuple[Outbox, Position]:
        """Hand over what waits, with the position to be committed with it."""
        async with self._whole:
            if self._forgotten:
                raise asyncio.CancelledError
            outbox, self._outbox = self._outbox, Outbox()
            if self._before is not None:
                return outbox, self.pipeline.within(self._before)
            return outbox, self.pipeline.position()

    async def _collect(self, steps: Iterator[Step], taken: Callable[[], None]) -> None:
        """Take the first portion of these steps."""
        self._before = self.pipeline.position()
        self._stages, self._taken = stages(steps), taken
        await self._take_portion()

    async def _take_portion(self) -> None:
        """Take steps one by one, so that the loop is never held up for long."""
        try:
            for stage in self._stages:
                documents: list[Document] = []
                decided = Verdicts(self._source.partition)
                for step in stage:
                    if self._forgotten:
                        return
                    documents += step.written(self._encoder.encode)
                    for name, releases in step.audiences():
                        self._headers[name] = headers_of(releases.policy)
                    self._outbox.accounts.update(step.accounts)
                    self._outbox.accounts.update(step.homes)
                    self._outbox.tell(step.told)
                    decided.add(step)
                    await asyncio.sleep(0)
                for event in decided.events():
                    self._tell(event)
                documents.sort()
                for _, _, _, end, meter, text, policy in documents:
                    topic = self._outbox.releases.setdefault(self._outputs[policy], [])
                    topic.append(record_of((meter.encode(), text, end, self._headers[policy])))
                if len(self._outbox) >= self.portion.size:
                    return
        except BaseException:
            self.forget()
            raise
        if not self._forgotten:
            self._before = None
            self._taken()

    def _account_for(self, records: int) -> None:
        counts = self.pipeline.counted()
        self._outbox.rejects += [
            Record(b"", reject_document(self._source.topic, self._source.partition, reject))
            for reject in counts.rejects
            if reject.reason not in self._silent
        ]
        self._tell(
            BatchTaken(
                self._source.partition,
                records,
                counts.tally.accepted,
                counts.tally.late,
                counts.tally.duplicate,
                counts.tally.unpaired,
                Counter(reject.reason for reject in counts.rejects),
            )
        )


def _nothing() -> None:
    """There is nothing to be done."""
