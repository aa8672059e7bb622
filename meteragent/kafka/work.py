"""What differs from one kind of work to another: the pipeline, what it is fed, what it remembers.

Everything else is the same for all: the life of a partition, its transactions, its ledger and
who owns that, the clock, the consumer group.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from meteragent.config import Config, pipelines
from meteragent.config.works import Work
from meteragent.formats.messages import message_decoder
from meteragent.kafka.decode_once import DecodedOnce
from meteragent.kafka.restore import Kept
from meteragent.kafka.unpack import unpacker_for
from meteragent.kafka.walk import Fetched, batch
from meteragent.privacy.entropy import NoiseKey
from meteragent.privacy.members import Membership
from meteragent.stream.group_homes import with_members
from meteragent.stream.home_pipeline import HomePipeline
from meteragent.stream.homes import Homes
from meteragent.stream.partial_homes import PASSED
from meteragent.stream.pipeline import Pipeline, Position
from meteragent.stream.readings import Reason
from meteragent.stream.roster import Roster
from meteragent.stream.total_pipeline import Partials, TotalPipeline


class Unpacks(Protocol):
    """Reads what a pipeline is fed."""

    def ahead(self, fetched: Fetched) -> Callable[[], Any] | None:
        """What another thread may find in these meanwhile; nothing, if that is not worth it."""

    def columns(self, fetched: Fetched) -> Any:  # noqa: ANN401 - what its pipeline takes
        """What the records hold that are wanted of these; nothing if none is."""


class KindOfWork(Protocol):
    """A kind of work."""

    silent: frozenset[Reason]
    """Of what is rejected for these reasons no document is written: it is others' to say."""
    reads_messages: bool
    """Whether it is fed what others write, in the form that `[input]` says."""

    def unpacker(self, partition: int) -> Unpacks:
        """Of a partition."""

    def pipeline(self, partition: int, start: Position) -> "Pipeline | TotalPipeline":
        """One that goes on from there; what is known is still to be restored."""


class MeterWork:
    """Readings of meters in, their releases out."""

    silent: frozenset[Reason] = frozenset()
    reads_messages = True

    def __init__(
        self, config: Config, key: NoiseKey, homes: Homes, once: DecodedOnce | None = None
    ) -> None:
        """`once`: where others in this process read the same input."""
        self._config, self._key, self._homes, self._once = config, key, homes, once
        self.decoder = message_decoder(config.mapping) if once is None else once.decoder

    def unpacker(self, partition: int) -> Unpacks:
        """One that remembers the ids of its meters."""
        if self._once is not None:
            return self._once.reader(partition)
        return unpacker_for(self._config.mapping, self.decoder)

    def pipeline(self, partition: int, start: Position) -> Pipeline:
        """The windows and accounts of meters."""
        return pipelines.of_meters(
            self._config,
            self._key,
            start=start,
            at_home=lambda meter: self._homes.of(meter) == partition,
        )


def rosters(
    config: Config, members: Sequence[Membership], inputs: Homes, outputs: Homes
) -> dict[str, Roster]:
    """Where the members are of the groups of each prefix."""
    found = with_members(config.groups, members)
    return {its[0].prefix: Roster(who, inputs, outputs) for its, who in found}


class HomeWork(MeterWork):
    """Readings of homes in, what they add to the sums of groups out."""

    def __init__(
        self,
        config: Config,
        key: NoiseKey,
        homes: Homes,
        rosters: Mapping[str, Roster],
        members: Sequence[Membership],
        *,
        alone: bool,
        once: DecodedOnce | None = None,
    ) -> None:
        """`alone`: nobody else takes the readings of meters in, and says what is wrong of them."""
        super().__init__(config, key, homes, once)
        self._rosters, self._members = rosters, {one.home for one in members}
        self.silent = frozenset([Reason.NO_GROUP] if alone else Reason)

    def pipeline(self, partition: int, start: Position) -> HomePipeline:
        """The homes of groups."""
        return HomePipeline(
            self._config.groups,
            self._key,
            self._rosters,
            partition,
            max_skew=self._config.agent.max_skew,
            is_member=self._members.__contains__,
            normalise_ids=self._config.agent.normalise_ids,
            start=start,
        )


class GroupWork:
    """What partitions of homes tell in, releases of groups out."""

    silent: frozenset[Reason] = frozenset()
    reads_messages = False

    def __init__(self, config: Config, key: NoiseKey, rosters: Mapping[str, Roster]) -> None:
        self._config, self._key, self._rosters = config, key, rosters

    def unpacker(self, partition: int) -> "PartialUnpacker":
        """One that is the same for all."""
        del partition
        return PartialUnpacker()

    def pipeline(self, partition: int, start: Position) -> TotalPipeline:
        """The windows and accounts of groups."""
        return TotalPipeline(self._config.groups, self._key, self._rosters, partition, start=start)


def kind_of(
    work: Work,
    config: Config,
    key: NoiseKey,
    members: Sequence[Membership],
    inputs: Homes,
    outputs: Homes,
    once: DecodedOnce | None = None,
) -> KindOfWork:
    """A kind of work on groups, where homes and groups are spread like this."""
    spread = rosters(config, members, inputs, outputs)
    if work is Work.HOMES:
        return HomeWork(config, key, inputs, spread, members, alone=not config.policy, once=once)
    return GroupWork(config, key, spread)


class PartialUnpacker:
    """Reads batches of what partitions tell."""

    def ahead(self, fetched: Fetched) -> None:
        """There is little of it."""

    def columns(self, fetched: Fetched) -> Partials | None:
        """The records that are wanted of these; nothing if none is."""
        wanted = [
            record
            for at, end in fetched.spans
            for record in batch(fetched.raw, at, end)
            if fetched.first <= record.offset < fetched.until
        ]
        if not wanted:
            return None
        return Partials([one.offset for one in wanted], [one.value for one in wanted])


def known(kept: Kept) -> dict[str, bytes]:
    """What a pipeline is restored from: the accounts, and how far its partition has come."""
    passed = kept.reserved.get(PASSED.encode())
    return kept.accounts if passed is None else {**kept.accounts, PASSED: passed}
