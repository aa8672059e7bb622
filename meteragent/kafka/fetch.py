"""The input as the brokers hold it: whole batches, taken from aiokafka before it makes objects.

An object per record is most of what a client costs, and the agent wants columns. So an answer to
a fetch is kept as the bytes that came; `walk` finds the way through them.

This room stands on insides of aiokafka. `tests/kafka/test_fetch.py` says which, and fails when
another version has others.
"""

import asyncio
from copy import copy
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.consumer.fetcher import Fetcher, FetchResult, PartitionRecords
from aiokafka.errors import ConsumerStoppedError
from aiokafka.protocol.fetch import FetchRequest

from meteragent.formats.fast import Raw
from meteragent.kafka.receive import InPlaceClient
from meteragent.kafka.walk import STAND_IN, Fetched, Walk, is_whole


class InputConsumer(AIOKafkaConsumer):  # type: ignore[misc]
    """A consumer that hands over batches."""

    async def start(self) -> None:
        """Connect. Nothing is fetched before partitions are assigned."""
        self._client.__class__ = InPlaceClient
        await super().start()
        self._fetcher.__class__ = _BatchFetcher  # aiokafka makes it by itself
        self._fetcher.listen()

    async def getbatches(
        self, *, timeout_ms: int, max_records: int
    ) -> dict[TopicPartition, Fetched]:
        """What has come of each partition: whole batches, until there are so many records.

        As `getmany` is, but that it may answer early, and with nothing.
        """
        if self._closed:
            raise ConsumerStoppedError
        self._coordinator.check_errors()
        with self._subscription.fetch_context():
            found: dict[TopicPartition, Fetched] = await self._fetcher.fetched_batches(
                timeout_ms / 1000, max_records
            )
        return found


class _BatchFetcher(Fetcher):  # type: ignore[misc]
    """Keeps what has come as bytes."""

    _client: Any
    behind: set[object]
    """Brokers that have more at once of a partition of which nothing is left here."""

    def listen(self) -> None:
        """Overhear what brokers answer."""
        self._client = _Overheard(self._client)
        self.behind = set()

    async def _proc_fetch_request(self, *request: Any) -> bool:  # noqa: ANN401 - aiokafka's own
        """Fetch. No await lies between an answer and the return of what is overridden here."""
        woken: bool = await super()._proc_fetch_request(*request)
        if woken:
            for topic, partitions in self._client.heard.topics:
                for partition, *_, raw in partitions:
                    self._keep(TopicPartition(topic, partition), raw)
        return woken

    def _keep(self, source: TopicPartition, raw: Raw) -> None:
        """Put our result in the place of aiokafka's, where it has just made one of these bytes."""
        made = self._records.get(source)
        if type(made) is FetchResult:
            self._records[source] = _Result.of(made, raw, self)

    def _get_actions_per_node(self, assignment: Any) -> Any:  # noqa: ANN401 - aiokafka's own
        """What to ask of whom: see `calculate_backoff`, of which it makes use."""
        self.behind = {
            self.node_of(source)
            for source in assignment.tps
            if source not in self._records and _has_more(assignment.state_value(source))
        }
        return super()._get_actions_per_node(assignment)

    def node_of(self, source: TopicPartition) -> object:
        """From which broker a partition is fetched."""
        return self._select_read_replica(source)

    async def fetched_batches(self, timeout: float, most: int) -> dict[TopicPartition, Fetched]:  # noqa: ASYNC109 - as `fetched_records`
        if self._subscriptions.reassignment_in_progress:
            await self._subscriptions.wait_for_assignment()
        if not (found := self._drained(most)) and timeout:
            waiter = self._create_fetch_waiter()
            done, pending = await asyncio.wait([waiter], timeout=timeout)
            if pending or self._closed:
                waiter.cancel()
                return {}
            done.pop().result()
            if not self._subscriptions.reassignment_in_progress:
                found = self._drained(most)
        return found

    def _drained(self, most: int) -> dict[TopicPartition, Fetched]:
        found: dict[TopicPartition, Fetched] = {}
        for source, result in list(self._records.items()):
            if most <= 0:
                break
            if isinstance(result, _Result):
                fetched, count = result.take(most)
                if not result.has_more():
                    self._let_go(source)
                if fetched.spans:
                    found[source] = fetched
                    most -= count
            elif not found:  # an error; it is told when nothing else is to be
                self._let_go(source)
                result.check_raise()
        return found

    def _let_go(self, source: TopicPartition) -> None:
        """Let the next be fetched."""
        del self._records[source]
        self._notify(self._wait_consume_future)


def _has_more(state: Any) -> bool:  # noqa: ANN401 - aiokafka's own
    """Whether a partition had more to be read than was, when its broker last answered."""
    known = state.has_valid_position and state.lso is not None
    return known and not state.paused and state.position < state.lso


def _shown(raw: Raw) -> bytes:
    """What aiokafka is to see of these batches: that there are any."""
    return STAND_IN if isinstance(raw, memoryview) and is_whole(raw) else bytes(raw)


class _Overheard:
    """A client whose last answer is remembered.

    Of what stays where it was received aiokafka sees a stand-in: it does not read it.
    """

    def __init__(self, client: Any) -> None:  # noqa: ANN401 - aiokafka's own
        self._client = client
        self.heard: Any = None

    async def send(self, *request: Any) -> Any:  # noqa: ANN401 - aiokafka's own
        answer = self.heard = await self._client.send(*request)
        if answer.API_KEY != FetchRequest.API_KEY:
            return answer
        shown = copy(answer)
        shown.topics = [
            (topic, [(*its, _shown(raw)) for *its, raw in partitions])
            for topic, partitions in answer.topics
        ]
        return shown

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever a client has
        return getattr(self._client, name)


class _Result(FetchResult):  # type: ignore[misc]
    """An answer of which batches are taken."""

    _partition_records: Any
    _fetcher: _BatchFetcher

    @classmethod
    def of(cls, made: Any, raw: Raw, fetcher: _BatchFetcher) -> "_Result":  # noqa: ANN401 - aiokafka's own
        """What aiokafka has made of these bytes, and not begun to read."""
        records: PartitionRecords = made._partition_records  # noqa: SLF001 - see above
        walk = Walk(raw, records._aborted_transactions, records.next_fetch_offset)  # noqa: SLF001
        result = cls(
            made._topic_partition,  # noqa: SLF001
            assignment=made._assignment,  # noqa: SLF001
            partition_records=walk,
            backoff=made._backoff,  # noqa: SLF001
        )
        result._fetcher = fetcher
        return result

    def calculate_backoff(self) -> float:
        """For how long nothing else is to be fetched from where this came from.

        While a partition there is far behind, not at all: what comes of it comes while this here
        is worked on. Else all are asked for together, and the answer to one that has nothing new
        does not let the others wait.
        """
        if self._fetcher.node_of(self._topic_partition) in self._fetcher.behind:
            return 0.0
        backoff: float = super().calculate_backoff()
        return backoff

    def take(self, most: int) -> tuple[Fetched, int]:
        """The next batches and about how many records they hold; nothing if they are outdated."""
        if not self.check_assignment(self._topic_partition):
            return Fetched(b"", (), 0), 0
        walk: Walk = self._partition_records
        taken = walk.take(most)
        self._update_position()
        if not walk.more:
            self._partition_records = None
        return taken
