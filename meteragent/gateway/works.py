"""Journal, pipeline, ledger and outbox together: no network, no clock of its own.

    write     messages -> the journal: now they may be acknowledged
    feed      what was written -> the pipeline
    commit    accounts, position and releases become true together; what nobody needs is forgotten

An exception leaves the state in pieces: whoever meets one lets go of it all, and begins with
`restore`. What was not committed is computed again from the journal, and is the same.
"""

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from meteragent.config import Config, pipelines
from meteragent.files.ledger import Resume, SqliteLedger
from meteragent.formats.encoder import Encoder
from meteragent.gateway import discovery
from meteragent.gateway.decode import Decoding
from meteragent.gateway.errors import JournalDamaged, JournalLost
from meteragent.gateway.frames import SALT, JournalRecord, RecordKind
from meteragent.gateway.journal import Journal, refuse_full, refuse_ledger
from meteragent.gateway.outbox import Outgoing
from meteragent.privacy.entropy import NoiseKey
from meteragent.stream.pipeline import Pipeline, Position
from meteragent.stream.readings import Readings
from meteragent.stream.releases import Document, Step, stages
from meteragent.watch.decided import Verdicts
from meteragent.watch.events import BatchTaken, Listener, PartitionRestored, TransactionEnded

STANDING = "mqtt"
"""Under which the ledger knows the journal, and how far it was read."""
HERE = 0
"""The number of the only partition that there is."""


class Works:
    """What a gateway does between receiving and sending."""

    def __init__(
        self,
        config: Config,
        key: NoiseKey,
        journal: Journal,
        ledger: SqliteLedger,
        tell: Listener,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._config, self._key = config, key
        self.journal, self._ledger, self._tell, self._clock = journal, ledger, tell, clock
        self._patterns, self._template = config.mqtt.patterns, config.mqtt.template
        self._decoding = Decoding(config.mapping)
        self._encoder = Encoder(config.policies)
        self._policies = {one.name: one.policy for one in config.assigned}
        ledger.refuse_another(key.fingerprint)
        self.outbox = Outgoing(ledger)
        self._known = ledger.standing(STANDING)
        self._messages: list[tuple[str, bytes]] = []
        self._accounts: dict[str, bytes] = {}
        self._decided = 0
        self._introduced: set[tuple[str, str]] = set()
        self.pipeline = self._built(self._known.position)

    @property
    def is_new(self) -> bool:
        """Whether nothing was ever committed."""
        return not self._known.head

    # Beginning.

    def restore(self, *, accept_loss: bool = False) -> Iterator[None]:
        """Read the journal from the position on; step by step, so that others may work meanwhile.

        `accept_loss`: if journal and ledger do not fit, go on without what was lost.
        """
        begun, lost = self._clock(), 0
        if self.is_new:
            self._found()
        owner, position = self._known.head, self._known.position
        try:
            self.journal.open(owner, position.offset, position.processed)
        except (JournalDamaged, JournalLost):
            if not accept_loss:
                raise
            lost = position.processed - position.offset
            self.journal.start(owner, position.processed)
            self.pipeline = self._built(replace(position, offset=position.processed))
        self.pipeline.restore(accounts := self._ledger.accounts())
        for first, records in self.journal.records(self.pipeline.position().offset):
            self.feed(first, records)
            yield
        self.commit()
        self._tell(PartitionRestored(HERE, len(accounts), self._clock() - begun, lost))

    def _found(self) -> None:
        """Let the ledger be that of a journal, before there is one."""
        if self.journal.is_there:
            raise refuse_ledger(str(self._config.mqtt.journal), "is there, but its ledger is not")
        self._known = Resume(head=os.urandom(SALT), head_bytes=SALT)
        self._ledger.commit(
            lengths={}, key=self._key.fingerprint, standings={STANDING: self._known}
        )

    def _built(self, start: Position) -> Pipeline:
        return pipelines.of_meters(self._config, self._key, start=start)

    # In.

    def record(self, topic: str, message: bytes, now: int) -> JournalRecord:
        """A message that came, as it is written down."""
        for pattern in self._patterns:
            if pattern.names_meter and pattern.matches(topic):
                return JournalRecord(RecordKind.NAMED, now, pattern.meter(topic), message)
        return JournalRecord(RecordKind.MESSAGE, now, "", message)

    def write(self, records: Sequence[JournalRecord]) -> int:
        """Write messages down; answer with the number of the first.

        Postcondition: they are on the disk, and may be acknowledged. FileRefused: there is no
        room, though all that nobody needs was forgotten.
        """
        if not self.journal.has_room(records):
            self.commit()
            if not self.journal.has_room(records):
                mqtt = self._config.mqtt
                raise refuse_full(str(mqtt.journal), mqtt.journal_limit)
        return self.journal.append(records)

    def feed(self, first: int, records: Sequence[JournalRecord]) -> None:
        """Take in what was written."""
        for one in self._decoding.readings(first, records):
            if isinstance(one, Readings):
                self._collect(self.pipeline.feed(one))
                self._count(len(one.offsets) + len(one.rejects))
            else:
                self._collect(self.pipeline.tick(one.time))

    def pass_time(self, now: int) -> None:
        """Let the clock close windows. Precondition: all that was sent before has been taken in.

        It is written down first: what is read again then closes the same windows in the same place.
        """
        if self.pipeline.due(now):
            tick = [JournalRecord(RecordKind.TICK, now)]
            self.feed(self.journal.append(tick), tick)

    def _collect(self, steps: Iterable[Step]) -> None:
        for stage in stages(steps):
            documents: list[Document] = []
            decided = Verdicts(HERE)
            for step in stage:
                documents += step.written(self._encoder.encode)
                self._accounts.update(step.accounts)
                decided.add(step)
            for event in decided.events():
                self._decided += event.windows
                self._tell(event)
            for document in sorted(documents):
                self._messages += self._introduction(document)
                topic = self._template.topic(document.meter, document.policy)
                self._messages.append((topic, document.text))

    def _introduction(self, document: Document) -> list[tuple[str, bytes]]:
        """What is said of a meter before its first release since the gateway began."""
        prefix, who = self._config.mqtt.discovery, (document.policy, document.meter)
        if prefix is None or who in self._introduced:
            return []
        self._introduced.add(who)
        return discovery.documents(prefix, self._template, self._policies[who[0]], *who)

    def _count(self, records: int) -> None:
        counts = self.pipeline.counted()
        tally, reasons = counts.tally, Counter(reject.reason for reject in counts.rejects)
        taken = BatchTaken(
            HERE, records, tally.accepted, tally.late, tally.duplicate, tally.unpaired, reasons
        )
        self._tell(taken)

    # Out.

    @property
    def is_due(self) -> bool:
        """Whether there is anything to commit."""
        waits = self._messages or self._accounts
        return bool(waits) or self.journal.can_forget(self.pipeline.position().offset)

    def commit(self) -> None:
        """Make everything so far true, and forget what nobody needs any more."""
        begun, position = self._clock(), self.pipeline.position()
        self._known = replace(self._known, position=replace(position, ticks=()))
        messages, windows = self._messages, self._decided
        self._ledger.commit(
            lengths={},
            key=self._key.fingerprint,
            accounts=self._accounts,
            policies={one.id: json.dumps(one.document()) for one in self._policies.values()},
            standings={STANDING: self._known},
            also=lambda database: self.outbox.add(database, messages),
        )
        self._messages, self._accounts, self._decided = [], {}, 0
        self.journal.forget(position.offset)
        self._tell(TransactionEnded(HERE, windows, self._clock() - begun))
