"""What must hold after every step, and what must have come of it all in the end."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cache, lru_cache

from meteragent.privacy.ledger import NEVER
from meteragent.privacy.ledger_record import load
from meteragent.privacy.terms import Terms
from meteragent.stream.pipeline import Position
from tests.schedules.intake import Release, releases
from tests.schedules.kafka_model import Kafka, Transaction
from tests.schedules.worker import LEDGER, REJECTED, SANITIZED
from tests.schedules.world import PARTITIONS, World

Window = tuple[str, int]


class Broken(AssertionError):
    """An invariant does not hold."""


class Checker:
    """Watches the logs of one simulation. Each look costs what is new, not what is there."""

    def __init__(self, kafka: Kafka, world: World) -> None:
        self._kafka = kafka
        self._world = world
        self._policy = world.policy
        self._drawn: dict[Window, bytes] = {}
        self._costs: dict[str, dict[int, int]] = defaultdict(dict)
        self._released: dict[Window, Release] = {}
        self._paid: dict[str, dict[int, int]] = defaultdict(dict)
        self._until: dict[str, int] = defaultdict(lambda: NEVER)
        self._accounts: dict[str, bytes] = {}
        self._processed = [0] * PARTITIONS
        self._outputs = [kafka.log((SANITIZED, p)).entries for p in range(PARTITIONS)]
        self._drawn_until = [0] * PARTITIONS
        self._decided_until = 0

    def look(self) -> None:
        """Check what is new in the logs."""
        for partition, entries in enumerate(self._outputs):
            if len(entries) > self._drawn_until[partition]:
                for entry in entries[self._drawn_until[partition] :]:
                    if entry.is_record:
                        self._draw(entry.key, entry.value)
                self._drawn_until[partition] = len(entries)
        while self._decided_until < len(self._kafka.decided):
            self._commit(self._kafka.decided[self._decided_until])
            self._decided_until += 1

    def _draw(self, meter: str, release: Release) -> None:
        """At `read_uncommitted`: one draw for a window, and no horizon over budget."""
        window = meter, release.start
        if self._drawn.setdefault(window, release.document) != release.document:
            raise Broken(f"a second draw of {window}")
        costs = self._costs[meter]
        costs[release.start] = release.cost
        terms, hop = self._policy.terms, self._policy.hop
        for last in range(terms.per_horizon):
            first = release.start + (last - terms.per_horizon + 1) * hop
            spent = sum(costs.get(first + nth * hop, 0) for nth in range(terms.per_horizon))
            if spent > terms.budget:
                raise Broken(f"{meter} is over budget from {first} on")

    def _commit(self, transaction: Transaction) -> None:
        """At `read_committed`: every window once, and exactly what the ledger says."""
        for (topic, _), key, value in transaction.records:
            if topic == SANITIZED:
                self._release(key, value)
            elif topic == LEDGER:
                self._accounts[key] = value
        for meter in sorted({key for _, key, _ in transaction.records if key}):
            self._balance(meter)
        for partition, position in transaction.offsets.items():
            assert isinstance(position, Position)
            if position.processed < self._processed[partition]:
                raise Broken(f"partition {partition} fell back to {position}")
            self._processed[partition] = position.processed

    def _release(self, meter: str, release: Release) -> None:
        window = meter, release.start
        if window in self._released:
            raise Broken(f"{window} is released twice")
        self._released[window] = release
        if release.cost:
            self._paid[meter][release.start] = release.cost
        self._until[meter] = max(self._until[meter], release.start + self._policy.size)

    def _balance(self, meter: str) -> None:
        account = self._accounts.get(meter)
        if account is None:
            raise Broken(f"{meter} has releases and no account")
        since, until, spent = _read_account(self._policy.terms, account)
        paid = {start: cost for start, cost in self._paid[meter].items() if start >= since}
        if spent != paid or until != self._until[meter]:
            raise Broken(f"the ledger of {meter} says {spent} {until}, the output {paid}")

    def compare(self) -> None:
        """Nothing is lost: what is committed is what an undisturbed pipeline makes."""
        wanted = expected(self._world)
        if self._released != wanted.releases:
            lost = wanted.releases.keys() - self._released.keys()
            other = self._released.keys() - wanted.releases.keys()
            raise Broken(f"lost: {sorted(lost)}, not expected: {sorted(other)}, or other values")
        if Counter(self._rejects()) != Counter(wanted.rejects):
            raise Broken("rejects are lost or doubled")

    def _rejects(self) -> list[tuple[int, int, str]]:
        rejects = []
        for partition in range(PARTITIONS):
            log = self._kafka.log((REJECTED, partition))
            entries, _ = log.read(0, len(log.entries), committed=True)
            rejects += [(partition, *entry.value) for entry in entries]
        return rejects


@dataclass
class Expected:
    """What an undisturbed pipeline makes of a world."""

    releases: dict[Window, Release] = field(default_factory=dict)
    rejects: list[tuple[int, int, str]] = field(default_factory=list)


@cache
def expected(world: World) -> Expected:
    """Feed everything, a record at a time; then let the clock run on to the end."""
    expected = Expected()
    for partition, log in enumerate(world.logs):
        pipeline = world.pipeline()
        steps = [
            s
            for i in range(len(log))
            for s in pipeline.feed(world.readings(partition, range(i, i + 1)))
        ]
        for step in [*steps, *pipeline.tick(world.end)]:
            expected.releases |= {(m, release.start): release for m, release in releases(step)}
        rejects = pipeline.counts.rejects
        expected.rejects += [(partition, r.offset, r.reason.value) for r in rejects]
    return expected


@lru_cache(2**16)
def _read_account(terms: Terms, account: bytes) -> tuple[int, int, dict[int, int]]:
    """(the first start it still knows, decided until, start -> nano-units)."""
    ledger = load(terms, [account])
    since = (int(ledger.head[0]) - ledger.buckets_kept + 1) * terms.bucket
    return since, int(ledger.released_until[0]), ledger.history(0)
