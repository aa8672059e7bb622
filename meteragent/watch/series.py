"""The series that events count, each there from the start: a rate needs a zero to begin from."""

from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from itertools import product

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder

from meteragent.stream.partition import State
from meteragent.stream.readings import Reason
from meteragent.stream.releases import Withheld

STATES = [s.value for s in State if s not in {State.ASSIGNED, State.LOST}]
"""Those that last: a partition is fenced as soon as it is assigned, and a lost one is gone."""
KINDS = ("kafka", "system", "meteragent", "bug")

_DELAYS = (
    1,
    2,
    5,
    10,
    30,
    60,
    120,
    300,
    600,
    1800,
    3600,
    21_600,
    86_400,
    172_800,
    345_600,
    1_209_600,
    3_456_000,
)
_TRANSACTIONS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_RESTORES = (0.1, 0.5, 1, 5, 15, 60, 300, 900)

Values = Iterable[str]
Exposed = tuple[bytes, str]


class Series:
    """All of them, in a registry of their own."""

    def __init__(self, queries: Mapping[str, Values], charges: Mapping[str, Values]) -> None:
        """`queries` are those of each policy, by its name; `charges` what its windows pay for."""
        self.registry = CollectorRegistry()
        self._batches()
        self._windows(queries, charges)
        self._members()
        self._commits(queries)
        self._lives()

    def expose(self, accept: str = "", works: Mapping[str, "Series"] | None = None) -> Exposed:
        """What the registry holds, in the format that `accept` asks for, and that format's type.

        With those of other works of the same process, whose samples have a label that says so.
        """
        return exposed(self.everything(works), accept)

    def everything(self, works: Mapping[str, "Series"] | None = None) -> CollectorRegistry:
        """What the registry holds, and what those of other works of the same process do."""
        others = {work: series.registry for work, series in (works or {}).items()}
        return _WithoutBirthdays(self.registry, others)

    def totals(self, policy: str) -> dict[str, dict[str, int]]:
        """What became of a policy's windows, and how many answers of each query were released."""
        suppressed = {
            labels["reason"]: count
            for labels, count in _counts(self.suppressed)
            if labels["policy"] == policy
        }
        windows = {
            name: next(count for labels, count in _counts(counter) if labels["policy"] == policy)
            for name, counter in (("closed", self.closed), ("released", self.windows_released))
        }
        answers = {
            labels["query"]: count
            for labels, count in _counts(self.released)
            if labels["policy"] == policy
        }
        return {"windows": windows, "suppressed": suppressed, "answers": answers}

    def rejected(self) -> dict[str, int]:
        """Reason -> how many records, of those that occurred."""
        return {labels["reason"]: count for labels, count in _counts(self.rejects) if count}

    def _batches(self) -> None:
        self.records = self._counter("records", "Records read.")
        self.readings = self._counter(
            "readings",
            "Readings by outcome; none are counted where presence is private.",
            outcome=("accepted", "late", "duplicate"),
        )
        self.unpaired = self._counter(
            "registers_unpaired",
            "Registers without one in the slot before, which give no power; none are counted "
            "where presence is private.",
        )
        self.rejects = self._counter(
            "rejects", "Records rejected whole.", reason=[r.value for r in Reason]
        )

        self.last_record = Gauge(
            "meteragent_last_record_timestamp_seconds",
            "When the last record was read; before the first one, when the agent began.",
            registry=self.registry,
        )

    def _windows(self, queries: Mapping[str, Values], charges: Mapping[str, Values]) -> None:
        self.closed = self._counter("windows_closed", "Windows decided.", policy=queries)
        self.windows_released = self._counter(
            "windows_released", "Windows with a release.", policy=queries
        )
        self.suppressed = self._counter(
            "windows_suppressed",
            "Windows withheld whole.",
            policy=queries,
            reason=[w.value for w in Withheld if w],
        )
        self.released = self._counter("released", "Answers released.", ("policy", "query"))
        self.spent = self._counter(
            "epsilon_spent",
            "Privacy spent by all meters together, as epsilon at the policy's radius; the query is "
            '"joint" where one draw is for the answers to all.',
            ("policy", "query"),
        )
        for policy, asked in queries.items():
            for query in asked:
                self.released.labels(policy, query)
            for charge in charges[policy]:
                self.spent.labels(policy, charge)

    def _members(self) -> None:
        self.memberships = Gauge(
            "meteragent_group_memberships",
            "Who is in which group, as last read: memberships that take effect, those of them "
            "that begin later than asked, those that never will because their homes reserve too "
            "little, and records that are damaged or came too late for what has begun.",
            ["outcome"],
            registry=self.registry,
        )

    def _commits(self, queries: Mapping[str, Values]) -> None:
        self.transactions = self._counter(
            "transactions", "Transactions by how they ended.", result=("committed", "abandoned")
        )
        self.outlived = self._counter(
            "releases_outlived",
            "Releases whose windows ended longer ago than their topic keeps records: Kafka "
            "deletes them at once.",
        )
        self.durations = self._histogram(
            "transaction_duration_seconds",
            "From sending the records to their commit.",
            _TRANSACTIONS,
        )
        self.delays = self._histogram(
            "release_delay_seconds",
            "From a window's end to the commit of its release; in a replay, the age of the data.",
            _DELAYS,
            policy=queries,
        )
        self.last_commit = Gauge(
            "meteragent_last_commit_timestamp_seconds",
            "When the last commit was.",
            registry=self.registry,
        )

    def _lives(self) -> None:
        self.rebalances = self._counter("rebalances", "How often partitions were reassigned.")
        self.restores = self._histogram(
            "restore_duration_seconds", "Reading accounts and position back.", _RESTORES
        )
        self.restored = self._counter("restored_meters", "Accounts read back.")
        self.lost = self._counter(
            "restore_lost_records", "Records that open windows needed and Kafka had deleted."
        )
        self.sessions_lost = self._counter(
            "sessions_lost", "How often an MQTT broker had forgotten the gateway and its readings."
        )
        self.failures = self._counter(
            "failures",
            "Errors after which something started over.",
            where=("partition", "agent", "clock", "registry"),
            kind=KINDS,
        )
        self.partitions = Gauge(
            "meteragent_partitions",
            "Partitions of this instance by state.",
            ["state"],
            registry=self.registry,
        )
        for state in STATES:
            self.partitions.labels(state)

    def _counter(
        self, name: str, meaning: str, names: tuple[str, ...] = (), **labels: Values
    ) -> Counter:
        made = Counter(
            f"meteragent_{name}", meaning, names or tuple(labels), registry=self.registry
        )
        for values in product(*labels.values()) if labels else ():
            made.labels(*values)
        return made

    def _histogram(
        self, name: str, meaning: str, edges: tuple[float, ...], **labels: Values
    ) -> Histogram:
        made = Histogram(
            f"meteragent_{name}", meaning, tuple(labels), buckets=edges, registry=self.registry
        )
        for values in product(*labels.values()) if labels else ():
            made.labels(*values)
        return made


def exposed(registry: CollectorRegistry, accept: str) -> Exposed:
    """What a registry holds, in the format that `accept` asks for, and that format's type."""
    encode, kind = choose_encoder(accept)
    return encode(registry), kind


def _counts(counter: Counter) -> Iterator[tuple[dict[str, str], int]]:
    for metric in counter.collect():
        for sample in metric.samples:
            if sample.name.endswith("_total"):
                yield sample.labels, int(sample.value)


class _WithoutBirthdays(CollectorRegistry):
    """A view of a registry without `_created`, which would be a third of all series."""

    def __init__(
        self, registry: CollectorRegistry, others: Mapping[str, CollectorRegistry]
    ) -> None:
        super().__init__()
        self._all, self._others = registry, others

    def collect(self) -> Iterator[Metric]:
        """Of copies: some families are the same objects at every scrape."""
        found = {metric.name: copy(metric) for metric in self._all.collect()}
        for work, registry in self._others.items():
            for metric in map(copy, registry.collect()):
                own = [s._replace(labels={**s.labels, "work": work}) for s in metric.samples]
                metric.samples = (
                    [*found[metric.name].samples, *own] if metric.name in found else own
                )
                found[metric.name] = metric
        for metric in found.values():
            metric.samples = [s for s in metric.samples if not s.name.endswith("_created")]
            yield metric
