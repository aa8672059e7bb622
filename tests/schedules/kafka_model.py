"""A small model of Kafka: logs, transactions, fencing and the offsets of groups.

What it says of transactions was measured against the real broker, and is compared with it by
`tests/integration/test_model.py`:

* A transactional id has one owner at a time. `start` fences the former owner and aborts its
  open transaction; it answers only when the last transaction is complete in every log.
* `end` decides a transaction at once, but what was decided reaches each log later, by a
  marker of its own (`write_marker`). Until then readers of committed records stop before the
  transaction, and `committed` still answers with the former offset.
* Records that were not delivered are simply missing from a transaction that is committed.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

OFFSETS = ("__consumer_offsets", 0)

Place = tuple[str, int]
"""(topic, partition)"""


class Fenced(Exception):
    """Another producer owns the transactional id by now, or the transaction is over."""


class Busy(Exception):
    """The last transaction is not complete in every log: ask again."""


class Identity(NamedTuple):
    """What a producer proves itself with."""

    name: str
    epoch: int


@dataclass(eq=False)
class Transaction:
    """One transaction, from its first record to its last marker."""

    identity: Identity
    places: list[Place] = field(default_factory=list)
    records: list[tuple[Place, Any, Any]] = field(default_factory=list)
    offsets: dict[Any, Any] = field(default_factory=dict)
    committed: bool | None = None
    """None while it is open."""


class Entry(NamedTuple):
    """A record, or a marker, which has no key and no value."""

    key: Any
    value: Any
    transaction: Transaction | None
    offset: int
    is_record: bool = True


@dataclass
class Log:
    """One partition; `epochs` and `ongoing` are what its leader knows of producers."""

    entries: list[Entry] = field(default_factory=list)
    epochs: dict[str, int] = field(default_factory=dict)
    ongoing: dict[str, Transaction] = field(default_factory=dict)
    begun: dict[str, int] = field(default_factory=dict)

    def append(
        self, key: object, value: object, transaction: Transaction | None, *, is_record: bool = True
    ) -> None:
        """Write what comes next."""
        offset = len(self.entries)
        self.entries.append(Entry(key, value, transaction, offset, is_record))

    def end(self, *, committed: bool) -> int:
        """Where readers stop: at the last stable offset, if they read what is committed."""
        return (
            min(self.begun.values(), default=len(self.entries)) if committed else len(self.entries)
        )

    @property
    def read_until(self) -> int:
        """One past the last record that somebody who reads what is committed has ever got."""
        committed = (e for e in reversed(self.entries) if e.is_record and not _is_aborted(e))
        return next((entry.offset + 1 for entry in committed), 0)

    def read(self, since: int, most: int, *, committed: bool) -> tuple[list[Entry], int]:
        """Some records from an offset on, and where to read next."""
        end = self.end(committed=committed)
        found: list[Entry] = []
        while since < end and len(found) < most:
            entry = self.entries[since]
            since += 1
            if entry.is_record and not (committed and _is_aborted(entry)):
                found.append(entry)
        return found, since

    def compact(self) -> None:
        """Of the stable records of each key keep only the latest committed one; offsets stay."""
        latest: dict[Any, int] = {}
        for at, entry in enumerate(self.entries[: self.end(committed=True)]):
            if entry.is_record:
                committed = entry.transaction is None or entry.transaction.committed
                gone = latest.get(entry.key) if committed else at
                if gone is not None:
                    self.entries[gone] = Entry(None, None, None, gone, is_record=False)
                if committed:
                    latest[entry.key] = at


def _is_aborted(entry: Entry) -> bool:
    """Whether it is part of a transaction that is not committed."""
    return entry.transaction is not None and not entry.transaction.committed


@dataclass
class Owner:
    """What the coordinator knows of a transactional id."""

    epoch: int = -1
    transaction: Transaction | None = None
    complete: bool = True


class Kafka:
    """One cluster."""

    def __init__(self, partitions: Mapping[str, int] | None = None) -> None:
        """`partitions`: how many each topic has, for those who ask; two, where it is not said."""
        self.partitions: Mapping[str, int] = defaultdict(lambda: 2, partitions or {})
        self.logs: dict[Place, Log] = {}
        self.owners: dict[str, Owner] = {}
        self.offsets: dict[Any, Any] = {}
        self.markers: list[tuple[Transaction, Place]] = []
        """What is decided, but not yet written."""
        self.decided: list[Transaction] = []
        """Every committed transaction, in the order of decision."""

    def log(self, place: Place) -> Log:
        """The log of a partition; made when it is first asked for."""
        log = self.logs.get(place)
        if log is None:
            log = self.logs[place] = Log()
        return log

    # What a producer asks of the transaction's coordinator.

    def start(self, name: str) -> Identity:
        """Become the owner of a transactional id."""
        owner = self.owners.setdefault(name, Owner())
        if not owner.complete:
            self._abort_if_open(name)
            raise Busy
        owner.epoch += 1
        owner.transaction = None
        return Identity(name, owner.epoch)

    def expire(self, name: str) -> None:
        """The transaction took too long: the owner is fenced as by a new one."""
        if name in self.owners:
            self._abort_if_open(name)

    def _abort_if_open(self, name: str) -> None:
        owner = self.owners[name]
        if owner.transaction is not None and owner.transaction.committed is None:
            owner.epoch += 1
            self._decide(owner.transaction, committed=False)

    def add(self, identity: Identity, place: Place) -> None:
        """Make a partition part of the producer's transaction, which begins if there is none."""
        owner = self._owner(identity)
        if owner.complete:
            owner.transaction, owner.complete = Transaction(identity), False
        assert owner.transaction is not None
        if owner.transaction.committed is not None:
            raise Busy
        if place not in owner.transaction.places:
            owner.transaction.places.append(place)

    def end(self, identity: Identity, *, commit: bool) -> None:
        """Decide a transaction; asked again, it answers the same."""
        transaction = self._owner(identity).transaction
        if transaction is None or transaction.committed not in {None, commit}:
            raise Fenced
        if transaction.committed is None:
            self._decide(transaction, committed=commit)

    def _decide(self, transaction: Transaction, *, committed: bool) -> None:
        transaction.committed = committed
        self.markers += [(transaction, place) for place in transaction.places]
        if committed:
            self.decided.append(transaction)

    def _owner(self, identity: Identity) -> Owner:
        owner = self.owners[identity.name]
        if owner.epoch != identity.epoch:
            raise Fenced
        return owner

    # What it asks of a partition's leader, which knows only what has reached it.

    def produce(self, identity: Identity, place: Place, records: list[tuple[Any, Any]]) -> int:
        """Append records to a partition of the transaction; answer where the first stands."""
        log, transaction = self.log(place), self._ongoing(identity, place)
        first = len(log.entries)
        log.begun.setdefault(identity.name, first)
        for key, value in records:
            log.append(key, value, transaction)
            transaction.records.append((place, key, value))
        return first

    def commit_offset(self, identity: Identity, source: object, offset: object) -> None:
        """Let an offset take effect with the transaction. The group's generation plays no part."""
        self._ongoing(identity, OFFSETS).offsets[source] = offset

    def _ongoing(self, identity: Identity, place: Place) -> Transaction:
        log = self.log(place)
        if log.epochs.get(identity.name, -1) > identity.epoch:
            raise Fenced
        if identity.name not in log.ongoing:
            transaction = self._owner(identity).transaction
            if transaction is None or transaction.committed is not None:
                raise Fenced
            if place not in transaction.places:
                raise Fenced
            log.ongoing[identity.name] = transaction
        log.epochs[identity.name] = identity.epoch
        return log.ongoing[identity.name]

    # What happens by itself.

    def write_marker(self, which: int = 0) -> None:
        """Tell one log what became of a transaction."""
        transaction, place = self.markers.pop(which)
        log, name = self.log(place), transaction.identity.name
        owner = self.owners[name]
        log.append(None, None, transaction, is_record=False)
        log.ongoing.pop(name, None)
        log.begun.pop(name, None)
        log.epochs[name] = owner.epoch
        if place == OFFSETS and transaction.committed:
            self.offsets.update(transaction.offsets)
        if all(other is not transaction for other, _ in self.markers):
            owner.complete = True

    # What anybody may do.

    def append(self, place: Place, key: object, value: object) -> None:
        """Append a record outside any transaction."""
        self.log(place).append(key, value, None)

    def committed(self, source: object) -> object | None:
        """The offset as far as it has taken effect; exact only after a `start`."""
        return self.offsets.get(source)
