"""The page about the metrics, written from the series themselves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, ProcessCollector

from meteragent.config.load import from_document
from meteragent.process.processes import Ends, Processes
from meteragent.watch.gauges import Constants, Present
from meteragent.watch.looked import GatewayDisk
from meteragent.watch.metrics import Monitor
from meteragent.watch.sums import SumsAtWork
from meteragent.watch.whole import Nobody

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prometheus_client.core import Metric
    from prometheus_client.registry import Collector

    from meteragent.config import Config

_INTRODUCTION = """\
# Metrics

What `/metrics` shows, in Prometheus' text format or as OpenMetrics. Labels are names from the
configuration (`policy`, `query`), numbers of partitions, and the fixed words listed here: never
a meter or a group, and nothing depends on what a meter measured. Where there is a `[[group]]`,
series about the work for groups have the label `work` (`homes`, `groups`). Counters and
histograms are there from the start, at 0. Epsilon is always at the policy's `radius`.

Dashboards that use them are in [deploy/grafana](../grafana), rules and alerts in
[deploy/prometheus](../prometheus/runbooks.md)."""

_POLICY = {"name": "household", "window": "15m", "interval": "10s", "maximum": "1kW"}
_OPEN = (
    "policy",
    "query",
    "partition",
    "le",
    "digest",
    "fingerprint",
    "version",
    "python",
    "decoder",
)
"""Labels whose values are not fixed words."""


def metrics() -> str:
    """All of it as Markdown."""
    monitor = Monitor(_config())
    counted = [*monitor.series.registry.collect()]
    constants = [*Constants(monitor.guarantees.values()).collect()]
    present = Present(monitor.guarantees, Nobody(""), monitor.fleet, monitor.recent)
    names = {metric.name for metric in constants}
    several = Processes(_config(), "", 0, (), Ends(frozenset(), 0)).registry
    processes = [m for m in several.collect() if m.name.startswith("meteragent_process")]
    process: Collector = ProcessCollector(registry=CollectorRegistry())
    return (
        "\n\n".join(
            [
                _INTRODUCTION,
                _table("Counted as it happens", [m for m in counted if m.name not in names]),
                _table("Looked at when asked", [*present.collect(), *SumsAtWork(dict).collect()]),
                _table("Of a gateway alone", GatewayDisk(lambda: 0, lambda: 0).collect()),
                _table("Where an instance is several processes", processes),
                _table("Of the configuration", constants),
                _table("Of the process", process.collect()),
            ]
        )
        + "\n"
    )


def _config() -> Config:
    asked = {"queries": ["avg"], "epsilon": "1", "budget": "96"}
    return from_document({"policy": [{**_POLICY, **asked}]}, Path(), {})


def _table(title: str, metrics: Iterable[Metric]) -> str:
    rows = ["| metric | type | labels | meaning |", "|---|---|---|---|"]
    return f"## {title}\n\n" + "\n".join([*rows, *map(_row, metrics)])


def _row(metric: Metric) -> str:
    suffix = {"counter": "_total", "info": "_info"}.get(metric.type, "")
    kind = "gauge histogram" if metric.type == "gaugehistogram" else metric.type
    meaning = metric.documentation.removesuffix(".") + "."
    return f"| `{metric.name}{suffix}` | {kind} | {_labels(metric)} | {meaning} |"


def _labels(metric: Metric) -> str:
    values: dict[str, list[str]] = {name: [] for name in getattr(metric, "_labelnames", ())}
    for sample in metric.samples:
        for name, value in sample.labels.items():
            if value not in values.setdefault(name, []):
                values[name].append(value)
    said = [
        f"`{name}`" if name in _OPEN else f"`{name}`: {', '.join(words)}"
        for name, words in values.items()
        if name != "le" or metric.type == "gaugehistogram"
    ]
    return "; ".join(said)
