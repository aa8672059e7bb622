"""What must hold after every step where groups are released; and what is made of partials."""

from functools import lru_cache

from meteragent.stream.homes import Homes
from meteragent.stream.partial import Partial, load, way_of
from meteragent.stream.roster import Roster
from tests.schedules.check import Broken, Checker, read_release
from tests.schedules.kafka_model import Kafka, Transaction
from tests.schedules.street import INPUTS, SUMS, Street

Told = tuple[bytes, int, int, int, int]
"""(policy's tag, pane, partition of the input, partition of sums, part)"""


class SumsChecker(Checker):
    """Besides, of what partitions tell of panes.

    A pane is told of with one content only, even where that is aborted, and committed once. What
    is released is what an undisturbed pipeline makes of the homes themselves, the very moment
    that it is committed; and only once all that it is made of had been committed.
    """

    def __init__(self, kafka: Kafka, world: Street) -> None:
        super().__init__(kafka, world)
        self._street = world
        self._partials = [
            kafka.log((world.config.kafka.partials, at)).entries for at in range(SUMS)
        ]
        self._told_until = [0] * SUMS
        self._told: dict[Told, bytes] = {}
        self._committed: set[Told] = set()
        self._passed: dict[tuple[bytes, int, int], int] = {}
        """(policy's tag, partition of the input, partition of sums) -> the last pane told of."""
        spread = Homes("murmur2", INPUTS), Homes("murmur2", SUMS)
        self._sums = spread[1]
        self._roster = Roster(world.plan.members, *spread)
        self._ways = {one.policy.id: way_of(one) for one in world.releasing.groups}

    def look(self) -> None:
        """Check what is new in the logs."""
        for at, entries in enumerate(self._partials):
            for entry in entries[self._told_until[at] :]:
                if entry.is_record:
                    self._tell(at, entry.value)
            self._told_until[at] = len(entries)
        super().look()

    def _tell(self, sums: int, record: bytes) -> None:
        """At `read_uncommitted`."""
        partial = _read(record)
        key = partial.way, partial.pane, partial.source, sums, partial.part
        if self._told.setdefault(key, record) != record:
            raise Broken(f"pane {partial.pane} is told of again, and otherwise")

    def _commit(self, transaction: Transaction) -> None:
        for (topic, sums), _, value in transaction.records:
            if topic == self._street.config.kafka.partials:
                partial = _read(value)
                key = partial.way, partial.pane, partial.source, sums, partial.part
                if key in self._committed:
                    raise Broken(f"pane {partial.pane} is told of twice")
                self._committed.add(key)
                self._passed[key[0], key[2], key[3]] = partial.pane
        super()._commit(transaction)

    def _release(self, document: bytes) -> str:
        group = super()._release(document)
        window, _ = read_release(document)
        if self._street.punctual:
            if self._street.expected.releases.get(window) != document:
                raise Broken(f"{window} is not what its homes make of it")
            self._refuse_uncommitted(window)
        return group

    def _refuse_uncommitted(self, window: tuple[str, str, int]) -> None:
        """Every partition in which it has homes must have passed the window.

        Partials of tiers are those of the policy that they are made from.
        """
        name, group, start = window
        way = self._ways.get(name)
        if way is None:
            return
        policy, sums = self._street.policies[name], self._sums.of(group)
        last = policy.panes.newest(start + policy.windows.lasting(1) - 1)
        for source in self._roster.sources(sums, start):
            if self._passed.get((way, source, sums), last - 1) < last:
                raise Broken(f"{window} is made of sums that nobody has committed")


@lru_cache(2**14)
def _read(record: bytes) -> Partial:
    partial = load(record)
    assert partial is not None
    return partial
