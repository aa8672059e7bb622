"""What must hold after every step, and what must have come of it all in the end."""

import json
from collections import Counter, defaultdict
from functools import lru_cache
from typing import NamedTuple

from aiokafka.structs import OffsetAndMetadata

from meteragent.config import Config
from meteragent.kafka.restore import bond_of, parse
from meteragent.privacy.billing import load
from meteragent.privacy.ledger import NEVER
from tests.schedules.kafka_model import Kafka, Transaction
from tests.schedules.world import AnyWorld, Rejected, Window

Ring = tuple[str, str]
"""(policy id, meter)"""
Source = tuple[str, int]
"""(consumer group, partition of its input)"""


READ_AGAIN = "late_partial"
"""Whoever dies between two portions of a batch has decided panes of which the whole batch is read
again: what it tells of them is then rejected once, though it was taken before."""


class Broken(AssertionError):
    """An invariant does not hold."""


class Release(NamedTuple):
    """What a document says."""

    window: Window
    queries: int
    """How many were answered."""


class Checker:
    """Watches the logs of one schedule. Each look costs what is new, not what is there."""

    def __init__(self, kafka: Kafka, world: AnyWorld) -> None:
        self._kafka = kafka
        self._world = world
        self._names = world.jobs[-1].kafka
        self._config = world.releasing
        self._paid_for = {
            name: [sum(policy.terms.costs[:n]) for n in range(9)]
            for name, policy in world.policies.items()
        }
        self._drawn: dict[Window, bytes] = {}
        self._costs: dict[Ring, dict[int, int]] = defaultdict(dict)
        self._paid: dict[Ring, dict[int, int]] = defaultdict(dict)
        self._until: dict[Ring, int] = defaultdict(lambda: NEVER)
        self._accounts: dict[str, bytes] = {}
        self._groups = {job.kafka.group: job.kafka for job in world.jobs}
        self._processed: dict[Source, int] = defaultdict(int)
        self._configurations: dict[Source, list[str]] = defaultdict(list)
        """Of each partition, in their order."""
        count = world.jobs[-1].partitions
        places = [(name, p) for name in self._names.outputs for p in range(count)]
        self._outputs = [kafka.log(place).entries for place in places]
        self._drawn_until = [0] * len(places)
        self._decided_until = 0
        self.released: dict[Window, bytes] = {}
        """What is committed."""

    def look(self) -> None:
        """Check what is new in the logs."""
        for place, entries in enumerate(self._outputs):
            if len(entries) > self._drawn_until[place]:
                for entry in entries[self._drawn_until[place] :]:
                    if entry.is_record:
                        self._draw(entry.value)
                self._drawn_until[place] = len(entries)
        while self._decided_until < len(self._kafka.decided):
            self._commit(self._kafka.decided[self._decided_until])
            self._decided_until += 1

    def _draw(self, document: bytes) -> None:
        """At `read_uncommitted`: one draw for a window, and no horizon over budget."""
        (name, meter, start), queries = window, _ = read_release(document)
        if self._drawn.setdefault(window, document) != document:
            raise Broken(f"a second draw of {window}")
        costs = self._costs[name, meter]
        costs[start] = self._paid_for[name][queries]
        terms, hop = self._world.policies[name].terms, self._world.policies[name].hop
        for last in range(terms.per_horizon):
            first = start + (last - terms.per_horizon + 1) * hop
            spent = sum(costs.get(first + nth * hop, 0) for nth in range(terms.per_horizon))
            if spent > terms.budget:
                raise Broken(f"{meter} is over budget from {first} on")

    def _commit(self, transaction: Transaction) -> None:
        """At `read_committed`: every window once, and exactly what the ledger says."""
        touched = set()
        for (topic, _), key, value in transaction.records:
            if topic in self._names.outputs:
                touched.add(self._release(value))
            elif topic == self._names.ledger and not key.startswith(b"\0"):
                self._accounts[key.decode()] = value
                touched.add(key.decode())
        for meter in sorted(touched):
            self._balance(meter)
        for source, committed in transaction.offsets.items():
            self._go_on(source, committed)

    def _go_on(self, source: Source, committed: object) -> None:
        """A position never falls back, nor does what it is committed by."""
        assert isinstance(committed, OffsetAndMetadata)
        group, partition = source
        position = parse(self._groups[group], partition, committed)
        if position.processed < self._processed[source]:
            raise Broken(f"partition {partition} of {group} fell back to {position}")
        self._processed[source] = position.processed
        bond = bond_of(committed)
        assert bond is not None
        had = self._configurations[source]
        if bond.generation.digest in had[:-1]:
            raise Broken(f"an older configuration is at work on partition {partition} again")
        if bond.generation.digest not in had:
            had.append(bond.generation.digest)

    def _release(self, document: bytes) -> str:
        (name, meter, start), queries = window, _ = read_release(document)
        if window in self.released:
            raise Broken(f"{window} is released twice")
        self.released[window] = document
        ring, end = (name, meter), start + self._world.policies[name].size
        if queries:
            self._paid[ring][start] = self._paid_for[name][queries]
        self._until[ring] = max(self._until[ring], end)
        return meter

    def _balance(self, meter: str) -> None:
        account = self._accounts.get(meter)
        if account is None:
            raise Broken(f"{meter} has releases and no account")
        rings = _read_account(self._config, account)
        for one, (since, until, spent) in zip(self._config.assigned, rings, strict=True):
            ring = one.policy.id, meter
            paid = {start: cost for start, cost in self._paid[ring].items() if start >= since}
            if spent != paid or until != self._until[ring]:
                raise Broken(f"the ledger of {meter} says {spent} {until}, the output {paid}")

    def compare(self) -> None:
        """Nothing is lost: what is committed is what an undisturbed pipeline makes."""
        wanted = self._world.expected
        if self.released != wanted.releases:
            lost = wanted.releases.keys() - self.released.keys()
            other = self.released.keys() - wanted.releases.keys()
            raise Broken(f"lost: {sorted(lost)}, not expected: {sorted(other)}, or other values")
        if Counter(self._rejects()) != Counter(wanted.rejects):
            raise Broken("rejects are lost or doubled")

    def _rejects(self) -> list[Rejected]:
        rejects = []
        for partition in range(max(job.partitions for job in self._world.jobs)):
            log = self._kafka.log((self._names.rejected, partition))
            entries, _ = log.read(0, len(log.entries), committed=True)
            for entry in entries:
                told = json.loads(entry.value)
                if told["reason"] == READ_AGAIN:
                    continue
                rejects.append((told["partition"], told["offset"], told["reason"]))
        return rejects


@lru_cache(2**14)
def read_release(document: bytes) -> Release:
    """What it says of whom."""
    told = json.loads(document)
    whose = told.get("meter_id") or told["group_id"]
    window = told["policy"], whose, told["window_start"]
    return Release(window, len(told["values"]))


@lru_cache(2**14)
def _read_account(config: Config, account: bytes) -> list[tuple[int, int, dict[int, int]]]:
    """(the first start it still knows, decided until, start -> nano-units), for each policy."""
    ledgers = load([one.share for one in config.assigned], [account])
    return [
        (
            (int(ledger.head[0]) - ledger.buckets_kept + 1) * ledger.terms.bucket,
            int(ledger.released_until[0]),
            ledger.history(0),
        )
        for ledger in ledgers
    ]
