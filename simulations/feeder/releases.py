"""Homes and their groups through the pipelines that release them, in the order of time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from meteragent.privacy.entropy import NoiseKey
from meteragent.privacy.group import GroupPolicy
from meteragent.privacy.members import Membership
from meteragent.privacy.policy import Policy
from meteragent.stream.group_pipeline import GroupPipeline
from meteragent.stream.meters import Assigned, AssignedGroups
from meteragent.stream.pipeline import Pipeline
from meteragent.stream.readings import Readings
from simulations.kit.statistics import Floats
from simulations.kit.traces import Trace


def of_homes(traces: Sequence[Trace], policy: Policy, key: NoiseKey) -> Floats:
    """unbiased[home, window] of the first question, by the policy's own clock."""
    policy = replace(policy, presence="private", idle=0)
    pipeline = Pipeline([Assigned("", "all", policy)], key, max_skew=0, max_meters=len(traces))
    return _released(pipeline, traces, [trace.name for trace in traces])


def of_groups(
    traces: Sequence[Trace],
    groups: Mapping[str, Sequence[Trace]],
    policy: GroupPolicy,
    key: NoiseKey,
) -> Floats:
    """unbiased[group, window] of the first question."""
    members = [Membership(home.name, group) for group, its in groups.items() for home in its]
    pipeline = GroupPipeline([AssignedGroups("", "all", policy)], key, members, max_skew=0)
    return _released(pipeline, traces, [*groups])


def _released(pipeline: Pipeline, traces: Sequence[Trace], names: Sequence[str]) -> Floats:
    by_name: dict[str, dict[int, float]] = {name: {} for name in names}
    steps = [step for batch in _in_time(traces) for step in pipeline.feed(batch)]
    steps += pipeline.tick(pipeline.clock + 2 * steps_end(traces))
    for releases in (step.releases for step in steps):
        rows = zip(releases.meters, releases.starts.tolist(), releases.unbiased, strict=True)
        for name, start, unbiased in rows:
            by_name[name][start] = float(unbiased[0])
    last = max(trace.begin + len(trace.watts) * trace.interval for trace in traces)
    return np.array(
        [[its[start] for start in sorted(its) if start < last] for its in by_name.values()]
    )


def steps_end(traces: Sequence[Trace]) -> int:
    """Longer than any window waits for its end: the length of what is released."""
    return max(len(trace.watts) * trace.interval for trace in traces)


def _in_time(traces: Sequence[Trace]) -> Iterator[Readings]:
    """All readings of one slot after the other. Precondition: traces are of the same time."""
    names, intervals = [trace.name for trace in traces], [trace.interval for trace in traces]
    once, interval = np.ones(len(traces), dtype=np.int64), np.array(intervals)
    for slot, watts in enumerate(np.array([trace.watts for trace in traces]).T):
        times = np.array([trace.begin for trace in traces]) + slot * interval
        first = slot * len(traces)
        offsets = first + np.arange(len(traces))
        yield Readings(names, offsets, times, once, times, interval, watts, [], first + len(traces))
