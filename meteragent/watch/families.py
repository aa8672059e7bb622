"""Series of several processes -> those of the whole: counts are added up, gauges have rules."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.samples import Sample

Plain = list[tuple[str, str, str, list[tuple[str, dict[str, str], float]]]]
"""Families as JSON holds them: name, meaning, kind and samples of each."""

COUNTED = frozenset({"counter", "histogram", "gaugehistogram"})
SUMMED = frozenset(
    {
        "meteragent_partitions",
        "meteragent_meters",
        "meteragent_meters_exhausted",
        "meteragent_meters_low_budget",
        "meteragent_windows_open",
        "process_open_fds",
        "process_resident_memory_bytes",
        "process_virtual_memory_bytes",
    }
)
LEAST = frozenset({"meteragent_clock_trusted", "meteragent_budget_exhaustion_seconds"})
"""Whoever is worst off speaks for all."""
MOST = frozenset(
    {
        "meteragent_standstill_seconds",
        "meteragent_clock_ahead_seconds",
        "meteragent_clock_age_seconds",
        "meteragent_last_record_timestamp_seconds",
        "meteragent_last_commit_timestamp_seconds",
        "meteragent_meter_memory_bytes",
        "meteragent_group_panes_waiting",
        "meteragent_group_waits_for",
        "meteragent_group_memberships",
        "meteragent_groups_decided_until_seconds",
    }
)
SAME = ("meteragent_policy_", "meteragent_release_", "meteragent_partition_")
"""Promises, which all make alike; and partitions, each of which one process has at a time."""
OWN = frozenset(
    {
        "meteragent_ready",
        "meteragent_alive",
        "process_cpu_seconds",
        "process_max_fds",
        "process_start_time_seconds",
    }
)
"""What the whole says of itself, whatever its parts say."""


class FamiliesTold(NamedTuple):
    """What one process has told of its series."""

    families: Plain
    lives: bool = True
    """Of one that has ended, only what it counted still holds."""


def plain(registry: CollectorRegistry) -> Plain:
    """What a registry holds now, for another process."""
    return [
        (f.name, f.documentation, f.type, [(s.name, s.labels, s.value) for s in f.samples])
        for f in registry.collect()
    ]


class Whole(CollectorRegistry):
    """A view of what several processes tell, and of what the whole says of itself."""

    def __init__(self, parts: Iterable[FamiliesTold], own: CollectorRegistry) -> None:
        super().__init__()
        self._parts, self._own = list(parts), own

    def collect(self) -> Iterator[Metric]:
        """Each family once."""
        known = {family.name: family for family in self._own.collect()}
        found: dict[str, Metric] = {}
        values: dict[str, dict[tuple[object, ...], Sample]] = {}
        for part in self._parts:
            for family in _read(part.families):
                if family.name in OWN or not (part.lives or family.type in COUNTED):
                    continue
                found.setdefault(family.name, family)
                _add(values.setdefault(family.name, {}), family)
        for name, family in found.items():
            family.samples = list(values[name].values())
            yield family
        yield from (family for name, family in known.items() if name not in found)


def _read(families: Plain) -> Iterator[Metric]:
    for name, meaning, kind, samples in families:
        family = Metric(name, meaning, kind)
        for sample, labels, value in samples:
            family.add_sample(sample, labels, value)
        yield family


def _add(values: dict[tuple[object, ...], Sample], family: Metric) -> None:
    for sample in family.samples:
        key = (sample.name, *sorted(sample.labels.items()))
        before = values.get(key)
        if before is None:
            values[key] = sample
        else:
            value = _together(family, before.value, sample.value)
            values[key] = before._replace(value=value)


def _together(family: Metric, one: float, other: float) -> float:
    if family.type in COUNTED or family.name in SUMMED:
        return one + other
    return min(one, other) if family.name in LEAST else max(one, other)


def is_ruled(name: str) -> bool:
    """Whether it is laid down what becomes of a gauge: each new one wants its rule."""
    return name in SUMMED | LEAST | MOST | OWN or name.startswith(SAME)
