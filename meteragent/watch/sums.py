"""How the sums of groups stand: which there are, how far each is decided, and who waits for whom.

A pane is decided when all partitions of the input that have members have passed it. Where one
stands still its groups do, too: nothing is released of them, and somebody has to be told.

All of this is public: who is in a group, and when its windows are over. Of what its homes draw
nothing is looked at. Metrics name no group; the page does, a bounded number of them.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from prometheus_client.core import GaugeMetricFamily, Metric

from meteragent.privacy.ledger import NEVER
from meteragent.stream.pipeline import Pipeline
from meteragent.stream.totals import PaneTotals


class GroupShown(NamedTuple):
    """One group under one policy."""

    group: str
    policy: str
    homes: int
    """Its members, for the window that was decided last."""
    until: int
    """Up to when all is decided of it, in milliseconds, or `NEVER`."""
    withheld: str | None
    """Why its next window will be, if that is known already."""


@dataclass(slots=True)
class Sum:
    """The groups of one policy, in all partitions of this instance."""

    groups: int = 0
    """That are known: of others no home was ever heard."""
    behind: int = 0
    """How many panes some partition of the input has passed that are not decided."""
    waits_for: set[int] = field(default_factory=set)
    """The partitions of the input that the next pane waits for."""
    until: int = NEVER
    """Up to when all is decided of some group."""


class SumsAtWork:
    """What is added up of all partitions of ours."""

    def __init__(self, pipelines: Callable[[], Mapping[int, Pipeline]]) -> None:
        self._pipelines = pipelines

    def _totals(self) -> Iterator[PaneTotals]:
        for pipeline in self._pipelines().values():
            yield from pipeline.totals

    def standing(self) -> dict[str, Sum]:
        """Policy -> how its groups stand."""
        found: defaultdict[str, Sum] = defaultdict(Sum)
        for total in self._totals():
            its = found[total.name]
            its.groups += len(total.groups.cohort.meters)
            its.behind = max(its.behind, total.behind)
            its.waits_for.update(total.holds_back())
            its.until = max(its.until, total.groups.done(total.nth))
        return dict(found)

    def groups(self) -> list[GroupShown]:
        """Each group, those that are farthest behind first."""
        every = [one for total in self._totals() for one in _groups(total)]
        return sorted(every, key=lambda one: (one.until, one.group, one.policy))

    def collect(self) -> Iterator[Metric]:
        """As they are now."""
        standing = sorted(self.standing().items())
        yield _by_policy(
            "meteragent_groups_decided_until_seconds",
            "The end of the newest decided window of any group.",
            ((name, its.until / 1000) for name, its in standing if its.until != NEVER),
        )
        yield _by_policy(
            "meteragent_group_panes_waiting",
            "Panes of groups that some partition of the input has passed and another has not.",
            ((name, its.behind) for name, its in standing),
        )
        holding = GaugeMetricFamily(
            "meteragent_group_waits_for",
            "1 for each partition of the input that the next pane of groups waits for.",
            labels=["policy", "partition"],
        )
        for policy, its in standing:
            for source in sorted(its.waits_for):
                holding.add_metric([policy, str(source)], 1)
        yield holding


def _groups(total: PaneTotals) -> Iterator[GroupShown]:
    """Those of one partition, under one policy."""
    names, policy = total.groups.cohort.meters, total.policy
    rows, ledger = np.arange(len(names)), total.groups.cohort.branches[total.nth].ledger
    until = ledger.released_until[: len(names)]
    starts = policy.windows.start(policy.windows.first_open(until))
    places = np.array([total.groups.rolls.groups[name] for name in names], dtype=np.int64)
    homes = total.groups.rolls.counts(places, starts)
    for row, name in enumerate(names):
        start, count = int(starts[row]), int(homes[row])
        left = int(ledger.left(rows[row : row + 1], start)[0])
        withheld = None
        if count < policy.homes.least:
            withheld = "homes"
        elif left < policy.terms.least:
            withheld = "budget"
        yield GroupShown(name, total.name, count, int(until[row]), withheld)


def _by_policy(name: str, meaning: str, values: Iterable[tuple[str, float]]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, meaning, labels=["policy"])
    for policy, value in values:
        family.add_metric([policy], value)
    return family
