"""What rules and alerts are made of, and how they are written down for Prometheus and people."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

PAGE = "runbooks.md"
WARNING, CRITICAL = "warning", "critical"


INSTANCE = ("job", "instance")


def lately(counter: str) -> str:
    """By how much a counter rose within the last hour, also before it was first scraped."""
    young = "(time() - process_start_time_seconds < bool 3600)"
    return (
        f"sum by (job, instance) (increase({counter}[1h])) "
        f"+ on (job, instance) sum by (job, instance) ({counter}) * on (job, instance) {young}"
    )


@dataclass(frozen=True)
class Recorded:
    """A result that is kept under a name: `level:metric:operations`, as Prometheus advises."""

    name: str
    expression: str

    def yaml(self) -> str:
        """One entry of a group."""
        return f"      - record: {self.name}\n        expr: {quoted(self.expression)}"


@dataclass(frozen=True)
class Alert:
    """Fires where `vector` has stood beyond the threshold for so long."""

    name: str
    vector: str
    """What is compared with the threshold: for as long as there are agents, it is not empty."""
    operator: str
    threshold: float | str
    """A number, or for each of the vector one of its own."""
    lasting: str
    severity: str
    labels: tuple[str, ...]
    """Those of the vector."""
    summary: str
    description: str
    meaning: str
    steps: tuple[str, ...]

    @property
    def expression(self) -> str:
        """The vector and its threshold."""
        beyond = self.threshold if isinstance(self.threshold, str) else f"{self.threshold:g}"
        return f"{self.vector} {self.operator} {beyond}"

    @property
    def anchor(self) -> str:
        """Where its runbook stands on the page."""
        return f"{PAGE}#{self.name.lower()}"

    def yaml(self) -> str:
        """One entry of a group."""
        return "\n".join(
            [
                f"      - alert: {self.name}",
                f"        expr: {quoted(self.expression)}",
                f"        for: {self.lasting}",
                f"        labels: {{severity: {self.severity}}}",
                "        annotations:",
                f"          summary: {quoted(self.summary)}",
                f"          description: {quoted(self.description)}",
                f"          runbook_url: {quoted(self.anchor)}",
            ]
        )

    def runbook(self) -> str:
        """Its part of the page."""
        steps = "\n".join(f"{n}. {step}" for n, step in enumerate(self.steps, 1))
        return (
            f"## {self.name}\n\n{self.meaning}\n\n"
            f"Fires ({self.severity}) when this holds for {self.lasting}:\n\n"
            f"```promql\n{self.expression}\n```\n\n{steps}"
        )


def quoted(text: str) -> str:
    """A string as YAML and JSON both write it."""
    return json.dumps(text, ensure_ascii=False)


def groups(named: Iterable[tuple[str, Iterable[Recorded] | Iterable[Alert]]], source: str) -> str:
    """A rule file."""
    lines = [f"# Written by `python -m deploy.prometheus.rules` from {source}.", "groups:"]
    for name, rules in named:
        lines += [f"  - name: {name}", "    rules:", *(rule.yaml() for rule in rules)]
    return "\n".join(lines) + "\n"


def rendered(template: str, labels: dict[str, str], value: str) -> str:
    """What Prometheus makes of an annotation; `value` is the number as it is shown."""
    named = re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda found: labels[found[1]], template)
    return re.sub(r"\{\{ \$value[^}]*\}\}", value, named)
