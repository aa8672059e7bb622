"""Asks a Prometheus what Grafana would ask it."""

import json
import math
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

Labels = dict[str, str]


@dataclass(frozen=True)
class Found:
    """One series: its labels, and its values by time."""

    labels: Labels
    values: dict[float, float]

    @property
    def last(self) -> float:
        """The newest value."""
        return self.values[max(self.values)]

    def called(self, legend: str) -> str:
        """As a legend says: `{{policy}}` is the label's value."""
        for name, value in self.labels.items():
            legend = legend.replace("{{" + name + "}}", value)
        return legend


def filled(expression: str, interval: str, job: str = "meteragent") -> str:
    """With everything chosen, and Grafana's interval."""
    chosen = {"$job": job, "$instance": ".+", "$policy": ".+", "$__rate_interval": interval}
    for name, value in chosen.items():
        expression = expression.replace(name, value)
    return expression


@dataclass(frozen=True)
class Source:
    """A Prometheus at an address."""

    address: str

    def get(self, path: str, **parameters: str) -> Any:  # noqa: ANN401 - JSON
        """What its HTTP API answers; parameters are lists where their names end with one."""
        asked = urlencode({name.replace("__", "[]"): v for name, v in parameters.items()})
        with urlopen(f"{self.address}/api/v1/{path}?{asked}", timeout=30) as answer:  # noqa: S310 - ours
            return json.load(answer)["data"]

    def at(self, expression: str, time: float | None = None) -> list[Found]:
        """Now, or at a time."""
        when = {} if time is None else {"time": f"{time:.3f}"}
        data = self.get("query", query=expression, **when)
        if data["resultType"] == "scalar":
            return [Found({}, _numbers([data["result"]]))]
        return [Found(_labels(one["metric"]), _numbers([one["value"]])) for one in data["result"]]

    def over(self, expression: str, begin: float, end: float, step: float) -> list[Found]:
        """Between two times."""
        data = self.get(
            "query_range", query=expression, start=f"{begin}", end=f"{end}", step=f"{step}"
        )
        return [Found(_labels(one["metric"]), _numbers(one["values"])) for one in data["result"]]

    def label_values(self, query: str) -> list[str]:
        """What Grafana's `label_values(selector, label)` gives."""
        selector, _, label = query.removeprefix("label_values(").removesuffix(")").rpartition(", ")
        values: list[str] = self.get(f"label/{label}/values", match__=filled(selector, "1m"))
        return values


def _labels(metric: Labels) -> Labels:
    return {name: value for name, value in metric.items() if name != "__name__"}


def _numbers(values: list[tuple[float, str]]) -> dict[float, float]:
    numbers = {float(time): float(value) for time, value in values}
    return {time: value for time, value in numbers.items() if not math.isnan(value)}
