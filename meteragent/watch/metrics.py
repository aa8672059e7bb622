"""The one place that turns events into Prometheus series and log lines.

One event makes one update and at most one line. Labels are bounded: names of the
configuration, enumerations, numbers of partitions; never a meter. Nothing here depends on a
reading's value: what was clipped, and what noise did, is not measured.
"""

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping

import structlog
from aiokafka.errors import KafkaError

from meteragent.config import Config
from meteragent.errors import MeterAgentError
from meteragent.stream.partition import State
from meteragent.stream.pipeline import Pipeline
from meteragent.stream.releases import Withheld
from meteragent.watch import events as e
from meteragent.watch import trace
from meteragent.watch.balances import Balances
from meteragent.watch.gauges import Constants, Present
from meteragent.watch.recent import UNASKED, Mishap, Recent
from meteragent.watch.series import STATES, Series
from meteragent.watch.sums import SumsAtWork
from meteragent.watch.watched import Watched

HOUR = 3600.0
_STEADY = {State.RUNNING, State.COMMITTING}

_log = structlog.get_logger()


class Monitor:
    """Listens to an agent, and knows what to say of it."""

    def __init__(self, config: Config, *, wall: Callable[[], float] = time.time) -> None:
        self._wall = wall
        self.guarantees = config.guarantees
        """By policy id."""
        self.recent = Recent(wall())
        self.states: dict[int, State] = {}
        """Of each partition of ours."""
        guarantees = self.guarantees.values()
        self.series = Series(
            {g.name: [asked.query.name for asked in g.policy.questions] for g in guarantees},
            {g.name: g.losses for g in guarantees},
        )
        self._last_record = wall()
        self.series.last_record.set(self._last_record)
        self.presence_is_public = all(g.policy.presence == "public" for g in guarantees)
        self._uncommitted: dict[int, deque[e.WindowsDecided]] = {}
        """Of each partition, what waits for its commit."""
        self._late = 0
        """Readings that came late and of which nothing was said yet: it is said at once, and then
        once an hour with what has come since."""
        self._in_time = 0
        """Readings that did not, since."""
        self._late_due = 0.0
        self._outlived = 0
        """Releases that Kafka deletes at once and of which nothing was said yet; said as often."""
        self._outlived_due = 0.0
        self._agent: Watched | None = None
        self.members: e.MembersRead | None = None
        """Who is in which group, as it was read last; None where nobody has to know."""
        self.sums = SumsAtWork(self._pipelines)
        self.fleet = Balances(self._pipelines, clock=wall)
        self.series.registry.register(Constants(guarantees))

    def silence(self, now: float) -> float:
        """For how many seconds no record has come; none came before the start."""
        return max(0.0, now - self._last_record)

    def watch(self, agent: Watched) -> None:
        """Whose gauges to show."""
        self._agent = agent
        self.series.registry.register(Present(self.guarantees, agent, self.fleet, self.recent))
        self.series.registry.register(self.sums)

    def tell(self, event: e.Occurrence) -> None:
        """Count an event, and say it."""
        match event:
            case e.BatchTaken():
                self._batch(event)
            case e.WindowsDecided():
                self._windows(event)
            case e.TransactionEnded():
                self._committed(event)
            case e.TransactionAbandoned(partition):
                self.series.transactions.labels("abandoned").inc()
                _log.warning("transaction abandoned", partition=partition)
            case e.PartitionMoved(partition, state):
                self._moved(partition, state)
            case e.PartitionRestored():
                self._restored(event)
            case e.PartitionFailed() | e.AgentFailed() | e.ClockFailed() | e.SchemasAwaited():
                self._failed(event)
            case e.ClockCompared(ahead):
                self._compared(ahead, agrees=event.agrees)
            case e.Rebalanced() | e.SessionLost() | e.MembersRead():
                self._learned(event)

    def _learned(self, event: e.Rebalanced | e.SessionLost | e.MembersRead) -> None:
        """How brokers deal with us, and who is in which group."""
        if isinstance(event, e.Rebalanced):
            self.series.rebalances.inc()
            _log.info("rebalanced", partitions=event.partitions)
        elif isinstance(event, e.MembersRead):
            said = _log.warning if event.is_doubtful else _log.info
            nobody = {"without_members": event.without_members} if event.without_members else {}
            said("members read", **event.counts, **nobody)
            self.members = event
            for outcome, count in event.counts.items():
                self.series.memberships.labels(outcome).set(count)
        else:
            self.series.sessions_lost.inc()
            _log.error("the broker kept nothing while the gateway was away: readings may be lost")

    def _batch(self, event: e.BatchTaken) -> None:
        self.series.records.inc(event.records)
        for reason, count in event.rejects.items():
            self.series.rejects.labels(reason.value).inc(count)
        now = self._wall()
        if event.records:
            self._last_record = now
            self.series.last_record.set(now)
        self.recent.bin(now).records += event.records
        if self.presence_is_public:  # else which slots hold a reading is a secret
            self.series.readings.labels("late").inc(event.late)
            self.series.readings.labels("accepted").inc(event.accepted)
            self.series.readings.labels("duplicate").inc(event.duplicate)
            self.series.unpaired.inc(event.unpaired)
            self.recent.bin(now).late += event.late
            self.recent.bin(now).shared += event.duplicate
            self.recent.bin(now).in_time += event.accepted
            self._late += event.late
            self._in_time += event.accepted
        if self._late and now >= self._late_due:
            if self._late > self._in_time:
                _log.warning("most readings came late: should delay be set?", readings=self._late)
            else:
                _log.warning("readings came late", readings=self._late)
            self._late, self._in_time, self._late_due = 0, 0, now + HOUR
        else:
            rejects = sum(event.rejects.values())
            _log.debug(
                "batch taken", partition=event.partition, records=event.records, rejects=rejects
            )

    def _windows(self, event: e.WindowsDecided) -> None:
        """Only noted: what is not committed in the end was not released, and cost nothing."""
        self._uncommitted.setdefault(event.partition, deque()).append(event)
        self.fleet.changed(event.partition)
        _log.debug(
            "windows decided",
            partition=event.partition,
            policy=self.guarantees[event.policy].name,
            windows=event.windows,
        )

    def _committed(self, event: e.TransactionEnded) -> None:
        self.series.transactions.labels("committed").inc()
        self.series.durations.observe(event.seconds)
        self.series.last_commit.set(self._wall())
        for decided in self._taken(event.partition, event.windows):
            self._released(decided)
        self.series.outlived.inc(event.outlived)
        self._outlived += event.outlived
        if self._outlived and (now := self._wall()) >= self._outlived_due:
            _log.warning(
                "releases are deleted at once: should retention.ms of the output be raised?",
                partition=event.partition,
                releases=self._outlived,
            )
            self._outlived, self._outlived_due = 0, now + HOUR
            return
        _log.debug(
            "committed", partition=event.partition, windows=event.windows, seconds=event.seconds
        )

    def _taken(self, partition: int, windows: int) -> Iterator[e.WindowsDecided]:
        """What a commit of so many windows was about: they are committed in their order."""
        waiting = self._uncommitted.get(partition, deque())
        while windows > 0 and waiting:
            decided = waiting.popleft()
            windows -= decided.windows
            yield decided

    def _released(self, event: e.WindowsDecided) -> None:
        guarantee, series, now = self.guarantees[event.policy], self.series, self._wall()
        policy, released = guarantee.name, next(iter(event.released.values()))
        unasked = {why: event.withheld.get(why, 0) for why in UNASKED}
        series.closed.labels(policy).inc(event.windows)
        series.windows_released.labels(policy).inc(released)
        for why, count in unasked.items():
            series.suppressed.labels(policy, why.value).inc(count)
        unpaid = event.windows - released - sum(unasked.values())
        series.suppressed.labels(policy, Withheld.BUDGET.value).inc(unpaid)
        for query, count in event.released.items():
            series.released.labels(policy, query).inc(count)
        for charge, nano in event.spent.items():
            series.spent.labels(policy, charge).inc(float(guarantee.epsilon(nano)))
        series.delays.labels(policy).observe(now - event.newest_end / 1000)
        spent = float(guarantee.epsilon(sum(event.spent.values())))
        self.recent.add(now, policy, event, spent)

    def _compared(self, ahead: float, *, agrees: bool) -> None:
        if agrees:
            _log.info("clock agrees with the brokers' again", ahead=round(ahead, 3))
        else:
            _log.error("clock differs from the brokers'", ahead=round(ahead, 3))

    def _moved(self, partition: int, state: State) -> None:
        before = self.states.get(partition)
        self.states[partition] = state
        if state in {State.LOST, State.FAILED}:
            self._uncommitted.pop(partition, None)
            self.fleet.changed(partition)
        if state is State.LOST:
            del self.states[partition]
        count = Counter(known.value for known in self.states.values())
        for shown in STATES:
            self.series.partitions.labels(shown).set(count[shown])
        say = _log.debug if {before, state} == _STEADY else _log.info
        say("partition state changed", partition=partition, state=state.value)

    def _restored(self, event: e.PartitionRestored) -> None:
        self.series.restores.observe(event.seconds)
        self.series.restored.inc(event.meters)
        self.series.lost.inc(event.lost)
        self.fleet.changed(event.partition)
        say = _log.error if event.lost else _log.info
        say(
            "records are lost that open windows needed" if event.lost else "partition restored",
            partition=event.partition,
            meters=event.meters,
            seconds=event.seconds,
            records=event.lost,
        )

    def _failed(
        self, event: e.PartitionFailed | e.AgentFailed | e.ClockFailed | e.SchemasAwaited
    ) -> None:
        error, retry_in = event.error, event.retry_in
        match event:
            case e.PartitionFailed(partition):
                where = "partition"
                _log.error(
                    "partition failed", partition=partition, exc_info=error, retry_in=retry_in
                )
            case e.AgentFailed():
                where = "agent"
                _log.error("agent failed", exc_info=error, retry_in=retry_in)
            case e.ClockFailed():
                where = "clock"
                _log.error("clock failed", exc_info=error, retry_in=retry_in)
            case e.SchemasAwaited():
                where = "registry"
                self._awaited(event)
        self.series.failures.labels(where, _kind(error)).inc()
        place = next(reversed(trace.frames(error.__traceback__)), "")
        self.recent.mishaps.append(Mishap(self._wall(), where, trace.kind(error), place))

    def _awaited(self, event: e.SchemasAwaited) -> None:
        partition, error, retry_in = event.partition, event.error, event.retry_in
        if retry_in:
            _log.error(
                "waiting for a schema", partition=partition, exc_info=error, retry_in=retry_in
            )
        else:
            _log.error(
                "records rejected: their schema is unknown", partition=partition, exc_info=error
            )

    def _pipelines(self) -> Mapping[int, Pipeline]:
        return self._agent.pipelines() if self._agent else {}


def _kind(error: BaseException) -> str:
    """Whose fault it may be: one of a few, because types of errors are many."""
    for kind, types in _KINDS:
        if isinstance(error, types):
            return kind
    return "bug"


_KINDS: tuple[tuple[str, tuple[type[BaseException], ...]], ...] = (
    ("meteragent", (MeterAgentError,)),
    ("kafka", (KafkaError,)),
    ("system", (OSError, TimeoutError)),
)
