"""A partition of a topic, fed in batches, killed and rebuilt: all that would be committed of it."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from meteragent.formats.decoder import Decoder
from meteragent.formats.encoder import Encoder, reject_document
from meteragent.stream.pipeline import START, Counts, Pipeline, Position
from tests.given import KEY
from tests.same_bytes.messages import SKEW

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from random import Random

    from meteragent.config import Config
    from meteragent.stream.releases import Step
    from tests.same_bytes.messages import Message

MOST_METERS = 20
LARGEST = 200
"""Records of a batch."""


class Fate(NamedTuple):
    """How often, after a batch, what happens."""

    commit: float = 0.5
    crash: float = 0.1
    tick: float = 0.1


ROUGH, CALM = Fate(), Fate(commit=1, crash=0, tick=0)


class Partition:
    """What was committed; and a pipeline that goes on from there."""

    def __init__(self, config: Config) -> None:
        self.releases: dict[str, list[bytes]] = defaultdict(list)
        """The documents of each meter, in order: that of meters among each other is free."""
        self.rejects: list[bytes] = []
        self.accounts: list[dict[str, bytes]] = []
        """What each transaction wrote into the ledger."""
        self.positions: list[Position] = [START]
        self._config = config
        self._encoder = Encoder()
        self.start_anew()

    def start_anew(self, config: Config | None = None) -> None:
        """As after a crash; perhaps with other settings. What was not committed is gone."""
        self._config = config or self._config
        self._pipeline = Pipeline(
            self._config.assigned,
            KEY,
            max_skew=SKEW,
            max_meters=MOST_METERS,
            start=self.positions[-1],
        )
        known: dict[str, bytes] = {}
        for written in self.accounts:
            known |= written
        self._pipeline.restore(known)
        self._documents: list[tuple[str, bytes]] = []
        self._charged: dict[str, bytes] = {}
        self.next = self.positions[-1].offset

    def feed(self, records: Sequence[Message]) -> None:
        """Take in what stands at `next`."""
        offsets = range(self.next, self.next + len(records))
        values, timestamps = zip(*records, strict=True)
        self._collect(self._pipeline.feed(Decoder().decode(values, offsets, timestamps)))
        self.next = offsets.stop

    def tick(self, after: int) -> None:
        """Let time pass as it is announced, so long after the newest reading."""
        if self._pipeline.announce(self._pipeline.clock + after):
            self.commit()
            self._collect(self._pipeline.keep(self.positions[-1]))

    def commit(self) -> None:
        """One transaction."""
        counts, self._pipeline.counts = self._pipeline.counts, Counts()
        for meter, document in self._documents:
            self.releases[meter].append(document)
        rejects = sorted(counts.rejects, key=lambda reject: reject.offset)
        self.rejects += [reject_document("readings", 0, reject) for reject in rejects]
        self.accounts.append(self._charged)
        self.positions.append(self._pipeline.position())
        self._documents, self._charged = [], {}

    def _collect(self, steps: Iterable[Step]) -> None:
        for step in steps:
            documents = self._encoder.encode(step.releases)
            self._documents += zip(step.releases.meters, documents, strict=True)
            self._charged.update(step.accounts)


def run(
    config: Config,
    log: Sequence[Message],
    draw: Random,
    fate: Fate = ROUGH,
    later: Config | None = None,
) -> Partition:
    """Feed a log to its end, whatever happens on the way; settings may change half way."""
    partition = Partition(config)
    slot = min(policy.interval for policy in config.policies)
    while partition.next < len(log):
        if later and partition.next > len(log) // 2:
            partition.commit()
            partition.start_anew(later)
            later = None
        partition.feed(log[partition.next :][: draw.randrange(1, LARGEST)])
        if draw.random() < fate.tick:
            partition.tick(draw.choice((0, 1, 10, 100)) * slot)
        if draw.random() < fate.commit:
            partition.commit()
        if draw.random() < fate.crash:
            partition.start_anew()
    partition.commit()
    partition.tick(max(p.size + p.grace + p.idle for p in config.policies))
    partition.commit()
    return partition
