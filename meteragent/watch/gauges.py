"""Series that are looked at when somebody asks: the agent as it is now, and what it promises.

Labels are names of the configuration, numbers of partitions and states: bounded, and never a
meter.
"""

import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal

from prometheus_client.core import (
    GaugeHistogramMetricFamily,
    GaugeMetricFamily,
    InfoMetricFamily,
    Metric,
)

from meteragent import __version__
from meteragent.explain.document import Answer
from meteragent.explain.explain import answers, bits_told
from meteragent.explain.guarantee import Guarantee
from meteragent.privacy import native
from meteragent.privacy.policy import Policy
from meteragent.stream.pipeline import DAWN
from meteragent.watch.balances import NOBODY, Balances, Standing
from meteragent.watch.recent import Recent
from meteragent.watch.watched import Watched

TENTHS = range(10, 101, 10)
_SECOND = 1000


def exhaustion(policy: Policy, standing: Standing, asking: float) -> float:
    """Seconds of meters' time until a tenth of them cannot pay, or infinity.

    At the rate at which windows ask for budget at present, and without what a sliding
    horizon gives back: it never comes where that rate can be kept up for ever.
    """
    terms = policy.terms
    horizon = terms.dearest(terms.per_horizon) * asking
    if horizon <= terms.budget:
        return float("inf")
    left, window = standing.poorest_tenth() * terms.budget, horizon / terms.per_horizon
    return left / window * terms.windows.ahead(1) / _SECOND


class Constants:
    """What the configuration promises, and what is running."""

    def __init__(self, guarantees: Iterable[Guarantee]) -> None:
        self._families = [*_constants(list(guarantees))]

    def collect(self) -> Iterable[Metric]:
        """The same at every scrape."""
        return self._families


class Present:
    """The agent, its partitions and its accounts."""

    def __init__(
        self, guarantees: Mapping[str, Guarantee], agent: Watched, fleet: Balances, recent: Recent
    ) -> None:
        self._guarantees = guarantees
        self._public = {g.name for g in guarantees.values() if g.policy.presence == "public"}
        """The policies under which anybody may learn which readings are absent."""
        self._agent = agent
        self._fleet = fleet
        self._recent = recent

    def collect(self) -> Iterator[Metric]:
        """As they are now."""
        yield from self._health()
        yield from self._partitions()
        yield from self._accounts()

    def _health(self) -> Iterator[Metric]:
        agent = self._agent
        yield _one("ready", "Whether every partition of this instance runs.", agent.ready)
        yield _one("alive", "Whether there is progress, as /healthz says.", agent.alive)
        key = InfoMetricFamily(
            "meteragent_key", "The noise key's fingerprint, the same on all instances."
        )
        key.add_metric([], {"fingerprint": agent.fingerprint})
        yield key
        yield _one(
            "standstill_seconds",
            "How long the event loop, the brokers or a due commit have made no progress.",
            agent.stood_still,
        )
        yield from self._clocks()

    def _clocks(self) -> Iterator[Metric]:
        clocks = self._agent.clocks
        yield _one(
            "clock_ahead_seconds",
            "By how much this machine's clock is ahead of the brokers', at least.",
            clocks.ahead,
        )
        yield _one(
            "clock_age_seconds",
            "How long ago the brokers' time was learned; it is asked for once a second.",
            clocks.age,
        )
        yield _one(
            "clock_trusted",
            "Whether the clock closes windows: the brokers' time is known, and this machine's "
            "agrees.",
            clocks.trusted,
        )

    def _partitions(self) -> Iterator[Metric]:
        clock = _by(
            "partition_event_time_seconds",
            "The newest event time read; not shown where presence is private.",
            "partition",
        )
        done = _by("partition_processed_offset", "One past the last record taken in.", "partition")
        for partition, pipeline in sorted(self._agent.pipelines().items()):
            if pipeline.clock != DAWN and len(self._public) == len(self._guarantees):
                clock.add_metric([str(partition)], pipeline.clock / _SECOND)
            done.add_metric([str(partition)], pipeline.position().processed)
        lag = "Records after the last one taken in."
        yield from (clock, done, _each("partition_lag_records", lag, self._agent.lags()))
        yield from self._blocked()
        waited = "How long the partition has waited for the schema of its next record."
        yield _each("partition_schema_wait_seconds", waited, self._agent.awaited())

    def _blocked(self) -> Iterator[Metric]:
        held = "Records behind a transaction upstream that has not ended."
        stood = "How long that transaction has held readings back."
        blocked = self._agent.blocked().items()
        yield _each("partition_blocked_records", held, {p: its[0] for p, its in blocked})
        yield _each("partition_blocked_seconds", stood, {p: its[1] for p, its in blocked})

    def _accounts(self) -> Iterator[Metric]:
        per_policy = {
            name: _by(name, meaning, "policy")
            for name, meaning in (
                ("meters", "Meters known."),
                ("meters_exhausted", "Meters with no budget left for their next window."),
                ("meters_low_budget", "Meters with a tenth of their budget or less."),
                ("meter_memory_bytes", "Memory of one meter."),
                (
                    "windows_open",
                    "Windows not yet decided that hold readings, where presence is public.",
                ),
                (
                    "budget_exhaustion_seconds",
                    "Time until a tenth of the meters have no budget left, at the present rate.",
                ),
            )
        }
        remaining = GaugeHistogramMetricFamily(
            "meteragent_budget_remaining_ratio",
            "Meters by the share of their budget that is left for their next window.",
            labels=["policy"],
        )
        standings = self._fleet.standings()
        for digest, guarantee in self._guarantees.items():
            standing = standings.get(digest, NOBODY)
            asking = self._recent.asking(guarantee.name)
            for name, value in _account(guarantee.policy, standing, asking).items():
                if name != "windows_open" or guarantee.name in self._public:
                    per_policy[name].add_metric([guarantee.name], value)
            remaining.add_metric(
                [guarantee.name], *_shares(standing, standing.left / guarantee.policy.budget)
            )
        yield from per_policy.values()
        yield remaining


def _account(policy: Policy, standing: Standing, asking: float) -> dict[str, float]:
    return {
        "meters": standing.meters,
        "meters_exhausted": standing.exhausted,
        "meters_low_budget": standing.low,
        "meter_memory_bytes": standing.bytes_per_meter,
        "windows_open": standing.open_windows,
        "budget_exhaustion_seconds": exhaustion(policy, standing, asking),
    }


def _shares(standing: Standing, total: float) -> tuple[list[tuple[str, float]], float]:
    up_to = standing.percent.cumsum()
    buckets = [(str(tenth / 100), float(up_to[tenth])) for tenth in TENTHS]
    return [*buckets, ("+Inf", float(standing.meters))], total


def _constants(guarantees: list[Guarantee]) -> Iterator[Metric]:
    build = InfoMetricFamily("meteragent_build", "What is running.")
    running = {"version": __version__, "python": platform.python_version(), "decoder": native.way()}
    build.add_metric([], running)
    yield build
    digest = InfoMetricFamily(
        "meteragent_policy",
        "The policy's id, as releases name it, and its unit.",
        labels=["policy"],
    )
    for guarantee in guarantees:
        said = {"digest": guarantee.policy.id, "unit": guarantee.policy.domain.unit}
        digest.add_metric([guarantee.name], said)
    yield digest
    for name, meaning, value in _PER_POLICY:
        family = _by(name, meaning, "policy")
        for guarantee in guarantees:
            family.add_metric([guarantee.name], value(guarantee))
        yield family
    for name, meaning, told in _PER_CHARGE:
        family = _by(name, meaning, "policy", "query")
        for guarantee in guarantees:
            for charge, amount in told(guarantee).items():
                family.add_metric([guarantee.name, charge], float(amount))
        yield family
    for name, meaning, worth in _PER_QUERY:
        family = _by(name, meaning, "policy", "query")
        for guarantee in guarantees:
            for answer in answers(guarantee.policy):
                family.add_metric([guarantee.name, answer.query], worth(guarantee, answer))
        yield family


_PER_POLICY: tuple[tuple[str, str, Callable[[Guarantee], float]], ...] = (
    (
        "policy_radius_watts",
        "The difference in every reading that epsilon is for; in the policy's unit.",
        lambda g: float(g.radius),
    ),
    (
        "policy_budget_epsilon",
        "The budget of one horizon, at the radius.",
        lambda g: float(g.epsilon(g.policy.budget)),
    ),
    (
        "policy_horizon_epsilon",
        "The most that a horizon's releases lose, if it starts or ends with a window.",
        lambda g: float(g.epsilon(g.horizon)),
    ),
    (
        "policy_any_horizon_epsilon",
        "The most that the releases of any stretch as long as the horizon lose.",
        lambda g: float(g.epsilon(g.any_horizon)),
    ),
    ("policy_horizon_seconds", "What the budget covers.", lambda g: g.policy.horizon / _SECOND),
    (
        "policy_pace_seconds",
        "The longest normal pause between decisions: from one window to the next, or idle.",
        lambda g: max(g.policy.windows.ahead(1), g.policy.idle) / _SECOND,
    ),
    (
        "policy_delay_seconds",
        "How long after its end a window waits for silent meters.",
        lambda g: (g.policy.grace + g.policy.idle) / _SECOND,
    ),
    (
        "policy_window_seconds",
        "The length of a window.",
        lambda g: g.policy.windows.lasting(1) / _SECOND,
    ),
)
_PER_CHARGE: tuple[tuple[str, str, Callable[[Guarantee], Mapping[str, float | Decimal]]], ...] = (
    (
        "release_epsilon",
        "The loss of one window's release, at the radius; all queries that share a draw are joint.",
        lambda g: g.losses,
    ),
    (
        "release_leakage",
        "The most that one window's release reveals, in bits of min-entropy; as release_epsilon.",
        lambda g: bits_told(g.policy),
    ),
)
_PER_QUERY: tuple[tuple[str, str, Callable[[Guarantee, Answer], float]], ...] = (
    (
        "release_noise_scale_watts",
        "The watts over which the noise of one output falls to 1/e, or what else the unit is.",
        lambda _, a: a.noise_scale,
    ),
    (
        "release_expected_error_watts",
        "The mean error of one output, in the middle of the range; in the policy's unit.",
        lambda _, a: a.expected_error.middle,
    ),
    (
        "release_p90_error_watts",
        "What nine outputs of ten stay within, in the middle of the range; in the policy's unit.",
        lambda _, a: a.error_90.middle,
    ),
    (
        "release_capacity_ratio",
        "The most by which one output multiplies the chance of guessing a level.",
        lambda _, a: a.times,
    ),
)


def _one(name: str, meaning: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"meteragent_{name}", meaning, value=value)


def _by(name: str, meaning: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"meteragent_{name}", meaning, labels=labels)


def _each(name: str, meaning: str, partitions: Mapping[int, float]) -> GaugeMetricFamily:
    family = _by(name, meaning, "partition")
    for partition, value in sorted(partitions.items()):
        family.add_metric([str(partition)], value)
    return family
