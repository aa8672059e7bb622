"""The agent without one of its promises, to see what the promise costs: never part of the product.

    python -m simulations.peers.variant at-least-once run -c agent.toml
    python -m simulations.peers.variant exact run -c agent.toml
    python -m simulations.peers.variant python run -c agent.toml

`at-least-once` sends without transactions; `exact` answers without noise, and keeps no accounts.
`python` keeps every promise, and does so without the wheel, though it be installed.
All are the product's own parts but for what stands here.
"""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.structs import OffsetAndMetadata

from meteragent import cli
from meteragent.kafka import agent
from meteragent.kafka.clients import BATCH_BYTES, Clients, connection
from meteragent.privacy import native
from meteragent.privacy.domain import ABSENT, Watts
from meteragent.privacy.query import READINGS, answer
from meteragent.stream import pipeline
from meteragent.stream.branch import Branch
from meteragent.stream.closed import Closed
from meteragent.stream.cohort import Cohort
from meteragent.stream.releases import Releases, Step, Withheld

if TYPE_CHECKING:
    from meteragent.privacy.arrays import Integers, Mask


class AtLeastOnce(AIOKafkaProducer):  # type: ignore[misc]
    """Sends at once; offsets are committed when all is delivered, by the consumer."""

    consumer: Any = None
    _offsets: dict[TopicPartition, OffsetAndMetadata]

    async def begin_transaction(self) -> None:
        """There is none."""
        self._offsets = {}

    async def send_offsets_to_transaction(
        self, offsets: dict[TopicPartition, OffsetAndMetadata], _group: str
    ) -> None:
        """Keep them for the commit."""
        self._offsets = offsets

    async def commit_transaction(self) -> None:
        """Commit the offsets, as any consumer does."""
        await self.consumer.commit(self._offsets)


class PlainClients(Clients):
    """Producers without transactions."""

    def producer(self, transactional_id: str | None) -> AIOKafkaProducer:
        """One that has no name."""
        del transactional_id
        return AtLeastOnce(
            **connection(self.kafka),
            enable_idempotence=True,
            acks="all",
            max_batch_size=BATCH_BYTES,
        )

    def input(self, **options: Any) -> Any:  # noqa: ANN401 - aiokafka's own
        """One through which offsets are committed, if it is the group's."""
        one = super().input(**options)
        if "group_id" in options:
            AtLeastOnce.consumer = one
        return one


def at_least_once() -> None:
    """No transactions from here on."""
    vars(agent)["Clients"] = PlainClients


class ExactCohort(Cohort):
    """Answers the same questions of the same windows: no charge, no noise, no accounts."""

    def decide(self, branch: Branch, closed: Closed) -> Step:
        """As a plain stream processor would. Precondition: windows are panes."""
        policy, decided = branch.policy, branch.fold(closed)
        levels = np.asarray(decided.contents[READINGS])
        starts = policy.windows.start(decided.windows)
        present: Mask = levels != ABSENT
        held: Integers = np.count_nonzero(present, axis=1)
        queries = tuple(question.query for question in policy.questions)
        values: Watts = policy.domain.watts(answer(queries, levels))
        granted: Integers = np.full(len(starts), len(queries))
        meters = [self.meters[row] for row in decided.rows.tolist()]
        withheld = [Withheld.NOTHING] * len(meters)
        columns = (starts, granted, withheld, held, present, values, values)
        releases = Releases(policy, meters, *columns)
        return Step(branch.name, releases, [], decided.moments, decided.dues)


def exact() -> None:
    """No privacy from here on."""
    vars(pipeline)["Cohort"] = ExactCohort


def in_python() -> None:
    """No wheel from here on."""
    vars(native)["wheel"] = None


VARIANTS: dict[str, Callable[[], None]] = {
    "at-least-once": at_least_once,
    "exact": exact,
    "python": in_python,
}


def main() -> int:
    """Take the promise away, and go on as the command line does."""
    _, variant, *arguments = sys.argv
    VARIANTS[variant]()
    return cli.main(arguments)


if __name__ == "__main__":
    sys.exit(main())
