"""How the sums of groups stand: panes that wait for a partition of the input, and for which.

A pane is decided when all partitions of the input that have members have passed it. Where one
stands still its groups do, too: nothing is released of them, and somebody has to be told.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping

from prometheus_client.core import GaugeMetricFamily, Metric

from meteragent.stream.pipeline import Pipeline


class SumsAtWork:
    """What is added up of all partitions of ours."""

    def __init__(self, pipelines: Callable[[], Mapping[int, Pipeline]]) -> None:
        self._pipelines = pipelines

    def collect(self) -> Iterator[Metric]:
        """As they are now."""
        waiting: defaultdict[str, int] = defaultdict(int)
        sources: set[tuple[str, int]] = set()
        for pipeline in self._pipelines().values():
            for total in pipeline.totals:
                waiting[total.name] = max(waiting[total.name], total.behind)
                sources |= {(total.name, source) for source in total.holds_back()}
        panes = GaugeMetricFamily(
            "meteragent_group_panes_waiting",
            "Panes of groups that one partition of the input has passed, and another has not.",
            labels=["policy"],
        )
        for policy, count in sorted(waiting.items()):
            panes.add_metric([policy], count)
        holding = GaugeMetricFamily(
            "meteragent_group_waits_for",
            "1 for each partition of the input that the next pane of groups waits for.",
            labels=["policy", "partition"],
        )
        for policy, source in sorted(sources):
            holding.add_metric([policy, str(source)], 1)
        yield from (panes, holding)
