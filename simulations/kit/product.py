"""The product, in one call: traces in, releases out, through the pipeline that the agent runs.

Nothing here sanitizes: it builds the batches that a topic would hold, and reads the releases
that would be published.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from meteragent.privacy.domain import Domain
from meteragent.privacy.entropy import NoiseKey
from meteragent.privacy.mechanism import TruncatedGeometric
from meteragent.privacy.policy import Policy
from meteragent.privacy.question import Question
from meteragent.stream.pipeline import Assigned, Pipeline
from meteragent.stream.readings import Readings
from meteragent.stream.releases import Releases
from simulations.kit.traces import DAY, Integers, Trace, Watts
from simulations.kit.windows import whole

FOR_EVER = 2**45
"""Milliseconds by which no two traces differ."""

ENOUGH = 30_000_000_000
"""A budget (nano-units per watt) that no simulation reaches."""


@dataclass(frozen=True, slots=True)
class Released:
    """What the world sees of one meter: by window and output, NaN where nothing was released."""

    begin: int
    """When the first window begins."""
    values: Watts
    unbiased: Watts


def policy(
    domain: Domain,
    questions: Sequence[Question],
    *,
    window: int,
    interval: int,
    min_coverage: Decimal = Decimal(0),
    budget: int = ENOUGH,
    horizon: int = DAY,
) -> Policy:
    """A policy of tumbling windows; the budget suffices unless one is given.

    A horizon that is shorter than a window is a window.
    """
    return Policy(
        domain=domain,
        questions=tuple(questions),
        size=window,
        interval=interval,
        hop=window,
        grace=0,
        idle=FOR_EVER,
        budget=budget,
        horizon=max(horizon, window),
        min_coverage=min_coverage,
    )


def typical_error(policy: Policy) -> float:
    """By how many watts a release of the first question is off on average, clamping apart.

    Why on the smallest grid: that error does not depend on how many levels there are.
    """
    step = policy.domain.resolution
    mechanism = TruncatedGeometric(Domain(0, step, step), policy.questions[0].epsilon)
    return mechanism.expected_error()


def release(traces: Sequence[Trace], policy: Policy, key: NoiseKey) -> list[Released]:
    """Every whole and broken window of every trace, as the agent would have released it.

    Precondition: names differ, every trace's interval is the policy's, and the policy is idle
    for ever: traces may lie years apart, and no one's end may close another's windows. Private
    presence is simulated as public: a window that holds a reading is released by the same law,
    and the empty ones between two traces need not be.
    """
    policy = replace(policy, presence="public")
    place = {trace.name: number for number, trace in enumerate(traces)}
    if len(place) < len(traces):
        message = "two traces have one name: their windows would be one meter's"
        raise ValueError(message)
    outputs = sum(q.query.outputs(policy.slots) for q in policy.questions)
    released = [_nothing(trace, policy, outputs) for trace in traces]
    first = [policy.windows.newest(one.begin) for one in released]
    pipeline = Pipeline([Assigned("", "all", policy)], key, max_skew=0, max_meters=len(traces))
    for releases in _steps(pipeline, traces):
        windows = policy.windows.newest(releases.starts)
        granted = np.arange(outputs) < _columns(releases)[:, np.newaxis]
        values = np.where(granted, releases.values, np.nan)
        unbiased = np.where(granted, releases.unbiased, np.nan)
        for row, (meter, window) in enumerate(zip(releases.meters, windows.tolist(), strict=True)):
            at = place[meter]
            released[at].values[window - first[at]] = values[row]
            released[at].unbiased[window - first[at]] = unbiased[row]
    return released


def _nothing(trace: Trace, policy: Policy, outputs: int) -> Released:
    """Room for every window that a trace touches."""
    begin, ends = whole(trace.begin, trace.begin + len(trace.watts) * trace.interval, policy)
    values = np.full((len(ends), outputs), np.nan)
    return Released(begin, values, values.copy())


def _columns(releases: Releases) -> Integers:
    """How many leading outputs of each window are released."""
    each = [q.query.outputs(releases.policy.slots) for q in releases.policy.questions]
    upto = np.concatenate([[0], np.cumsum(each)])
    columns: Integers = upto[releases.granted]
    return columns


def _steps(pipeline: Pipeline, traces: Sequence[Trace]) -> Iterator[Releases]:
    for batch in batches(traces):
        for step in pipeline.feed(batch):
            yield step.releases
    for step in pipeline.tick(pipeline.clock + 2 * FOR_EVER):
        yield step.releases


READINGS_PER_BATCH = 20_000
TRACES_IN_TURN = 64
_Run = tuple[str, int, int, Watts]  # meter, first time, interval, readings


def batches(traces: Sequence[Trace]) -> Iterator[Readings]:
    """Traces as interval blocks, a piece of each of some in turn, as a topic would hold them.

    Why in turn: windows of many meters are charged at once, those of one only one by one. Why
    not all in turn: pieces would be a few readings long.
    """
    runs: list[_Run] = []
    offset = size = 0
    for run in _pieces(traces):
        runs.append(run)
        size += len(run[-1])
        if size >= READINGS_PER_BATCH:
            yield _batch(runs, offset)
            offset, size, runs = offset + len(runs), 0, []
    if runs:
        yield _batch(runs, offset)


def _pieces(traces: Sequence[Trace]) -> Iterator[_Run]:
    for first in range(0, len(traces), TRACES_IN_TURN):
        some = traces[first : first + TRACES_IN_TURN]
        piece = max(READINGS_PER_BATCH // len(some), 1)
        longest = max(len(trace.watts) for trace in some)
        for low in range(0, longest, piece):
            for trace in some:
                watts = trace.watts[low : low + piece]
                if len(watts):
                    yield trace.name, trace.begin + low * trace.interval, trace.interval, watts


def _batch(runs: list[_Run], offset: int) -> Readings:
    names, starts, intervals, watts = zip(*runs, strict=True)
    counts = np.array([len(each) for each in watts])
    first, interval = np.array(starts), np.array(intervals)
    return Readings(
        meters=list(names),
        offsets=offset + np.arange(len(runs)),
        timestamps=first + interval * (counts - 1),
        counts=counts,
        starts=first,
        intervals=interval,
        watts=np.concatenate(watts),
        rejects=[],
        next_offset=offset + len(runs),
    )
