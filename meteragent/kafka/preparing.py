"""What has to be known before a kind of work begins: who is where, and in which group."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import for_code

from meteragent.config import Config
from meteragent.config.works import Work, works
from meteragent.errors import TopicsUnfit
from meteragent.kafka import ownership
from meteragent.kafka.clients import Clients
from meteragent.kafka.decode_once import DecodedOnce
from meteragent.kafka.memberships import MembersTopic, planned
from meteragent.kafka.work import KindOfWork, kind_of
from meteragent.privacy.entropy import NoiseKey
from meteragent.stream.group_homes import without_members
from meteragent.stream.homes import Homes
from meteragent.watch.events import Listener, MembersRead

SUMS = "murmur2"
"""How the partition follows from a group's name, in which it is decided."""


class Prepared(NamedTuple):
    """What is to be done, and what may end it."""

    kind: KindOfWork | None = None
    """None: meters are released."""
    watch: Callable[[], Awaitable[Exception]] | None = None
    """Answers when it has to begin anew, and why."""
    once: DecodedOnce | None = None
    """What others in this process read too."""


class Prepare(Protocol):
    """Learns what has to be known."""

    async def __call__(self, admin: AIOKafkaAdminClient, clients: Clients) -> Prepared:
        """Ask Kafka."""


async def nothing(
    admin: AIOKafkaAdminClient, clients: Clients, once: DecodedOnce | None = None
) -> Prepared:
    """Meters need no preparation."""
    del admin, clients
    return Prepared(once=once)


class PrepareGroups:
    """What those need to know who work on groups: members, and how many partitions there are."""

    def __init__(
        self,
        work: Work,
        config: Config,
        key: NoiseKey,
        tell: Listener,
        once: DecodedOnce | None = None,
    ) -> None:
        """`config` is that of all works."""
        self._work, self._config, self._key, self._tell = work, config, key, tell
        self._once = once

    async def __call__(self, admin: AIOKafkaAdminClient, clients: Clients) -> Prepared:
        """Read all memberships, and look where homes and groups are.

        Where one of their ledgers is spread otherwise, none of both begins: they would add up what
        others have told of other homes.
        """
        config, kafka = self._config, self._config.kafka
        counts = await _partitions(admin, "input", kafka.input)
        sums = await _partitions(admin, "partials", kafka.partials)
        await _partitions(admin, "groups", kafka.groups)
        for work, many in ((Work.HOMES, counts), (Work.GROUPS, sums)):
            own = works(config)[work]
            bonds = await ownership.bonds(admin, own, many)
            for layout in {bond.layout for bond in bonds.values() if bond is not None}:
                ownership.refuse_layout(own.kafka, many, layout)
        inputs, outputs = Homes(kafka.partitioner, counts), Homes(SUMS, sums)
        topic = MembersTopic(config, clients)
        told = await topic.read()
        plan = planned(config, told.memberships)
        told_of = len(plan.members), plan.later, plan.refused, told.damaged, told.too_soon
        idle = tuple(without_members(config.groups, plan.members))
        self._tell(MembersRead(*told_of, without_members=idle))
        kind = kind_of(self._work, config, self._key, plan.members, inputs, outputs, self._once)
        return Prepared(kind, lambda: topic.watch(told.memberships))


async def _partitions(admin: AIOKafkaAdminClient, setting: str, topic: str) -> int:
    [described] = await admin.describe_topics([topic])
    if described["error_code"]:
        problem = f"kafka.{setting}: topic {topic}: {for_code(described['error_code']).__name__}"
        raise TopicsUnfit([f"{problem}; run `meteragent topics create`"])
    return len(described["partitions"])
