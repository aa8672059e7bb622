"""Several processes of one group, shown as one: their page, their metrics, their probes."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, Protocol

from prometheus_client import CollectorRegistry

from meteragent.stream.pipeline import Pipeline
from meteragent.watch.families import FamiliesTold, Whole
from meteragent.watch.http_message import Request, Response, packed
from meteragent.watch.series import exposed
from meteragent.watch.shown import of_ended, of_several
from meteragent.watch.status import Document, Status, as_json, probes
from meteragent.watch.watched import Clocks
from meteragent.watch.web import Page

MOST_ERRORS = 20
_SUMMED = ("records_per_second", "releases_per_second", "late_last_hour", "shared_last_hour")
_SUMMED_OF_POLICIES = ("meters", "exhausted", "low")


class Several(Protocol):
    """What is asked of whoever looks after the processes."""

    @property
    def ready(self) -> bool:
        """Whether all of them are."""

    @property
    def alive(self) -> bool:
        """Whether all of them get on."""

    @property
    def sentence(self) -> tuple[str, str]:
        """How they stand: a word, and a sentence for people."""

    def reports(self) -> Sequence[tuple[Mapping[str, Any], bool]]:
        """The last that each of them has told, and whether it lives."""

    def mishaps(self) -> list[Document]:
        """Ends of processes that nobody had asked for."""


class Nobody:
    """An agent without a partition: what is shown before any process has told of itself."""

    ready = alive = True
    stood_still = 0.0
    clocks = Clocks()

    def __init__(self, fingerprint: str) -> None:
        self.fingerprint = fingerprint

    def pipelines(self) -> Mapping[int, Pipeline]:
        """None."""
        return {}

    def lags(self) -> Mapping[int, int]:
        """None."""
        return {}

    def blocked(self) -> Mapping[int, tuple[int, float]]:
        """None."""
        return {}

    def awaited(self) -> Mapping[int, float]:
        """None."""
        return {}


class AsOne:
    """Answers for all of them."""

    def __init__(self, nobody: Status, parts: Several, own: CollectorRegistry) -> None:
        """`nobody`: how it would be without any; `own`: the series of what looks after them."""
        self._nobody, self._parts, self._own = nobody, parts, own

    def pages(self) -> dict[str, Page]:
        """By their paths."""
        return {
            **self._nobody.fixed,
            "/status.json": Page(lambda asked: as_json(self.document(), asked)),
            "/metrics": Page(self._metrics),
            **probes(self._parts),
        }

    def document(self) -> Document:
        """Everything that the page shows."""
        documents = [
            report["status"] if lives else ended(report["status"])
            for report, lives in self._parts.reports()
        ]
        word, said = self._parts.sentence
        whole = merged(self._nobody.document(), documents)
        errors = sorted(whole["errors"] + self._parts.mishaps(), key=lambda e: -e["at"])
        return whole | {
            "state": {"word": word, "sentence": said},
            "errors": errors[:MOST_ERRORS],
        }

    def _metrics(self, asked: Request) -> Response:
        told = [FamiliesTold(report["families"], lives) for report, lives in self._parts.reports()]
        nobody = FamiliesTold(
            self._nobody.report()["families"], lives=not any(t.lives for t in told)
        )
        body, kind = exposed(Whole([nobody, *told], self._own), asked.headers.get("accept", ""))
        return packed(Response(body, kind), asked)


def merged(base: Document, parts: Iterable[Document]) -> Document:
    """One document of several. Rates and counts are sums, delays those of the slowest."""
    every = [base, *parts]
    rows = sorted(_chained(every, "partitions"), key=lambda row: row["partition"])
    policies = zip(*(one["policies"] for one in every), strict=True)
    return (
        base
        | _added(every, _SUMMED)
        | {
            "delay_seconds": {which: _slowest(every, which) for which in ("median", "most")},
            "partitions": rows,
            "policies": [*map(_policy, policies)],
            "groups": base["groups"] and of_several(_of_groups(every)),
            "rejects": dict(sum((Counter(one["rejects"]) for one in every), Counter[str]())),
            "mostly_late": any(map(itemgetter("mostly_late"), every)),
            "mostly_shared": any(map(itemgetter("mostly_shared"), every)),
            "silent_seconds": min(map(itemgetter("silent_seconds"), every)),
            "errors": _chained(every, "errors"),
        }
    )


def _of_groups(parts: Iterable[Document]) -> list[Document]:
    return [*map(itemgetter("groups"), parts)]


def _added(parts: Sequence[Document], names: Iterable[str]) -> Document:
    return {name: sum(map(itemgetter(name), parts)) for name in names}


def _chained(parts: Sequence[Document], name: str) -> list[Document]:
    return [*chain.from_iterable(map(itemgetter(name), parts))]


def _slowest(parts: Iterable[Document], which: str) -> float | None:
    told = (one["delay_seconds"][which] for one in parts)
    return max((delay for delay in told if delay is not None), default=None)


def ended(document: Document) -> Document:
    """What still holds of a process that has ended: what it counted."""
    gone = dict.fromkeys(_SUMMED, 0) | {"partitions": [], "mostly_late": False}
    policies = [
        policy | dict.fromkeys(_SUMMED_OF_POLICIES, 0) | {"tenths": [0] * len(policy["tenths"])}
        for policy in document["policies"]
    ]
    of_groups = document["groups"] and of_ended(document["groups"])
    return document | gone | {"mostly_shared": False, "policies": policies, "groups": of_groups}


def _policy(parts: Sequence[Document]) -> Document:
    meters = sum(map(itemgetter("meters"), parts))
    left = (one["exhaustion_seconds"] for one in parts)
    tenths = zip(*map(itemgetter("tenths"), parts), strict=True)
    return (
        parts[0]
        | _added(parts, _SUMMED_OF_POLICIES)
        | {
            "exhaustion_seconds": min((one for one in left if one is not None), default=None),
            "answers": [*map(_answers, zip(*map(itemgetter("answers"), parts), strict=True))],
            "tenths": [*map(sum, tenths)],
            "spent_by_each": _spent(parts, max(1, meters)),
            "windows": _sums([*map(itemgetter("windows"), parts)]),
            "suppressed": _sums([*map(itemgetter("suppressed"), parts)]),
        }
    )


def _answers(parts: Sequence[Document]) -> Document:
    return parts[0] | _added(parts, ("released",))


def _spent(parts: Sequence[Document], meters: int) -> list[float]:
    """Per minute, by each meter of all of them."""
    spent = ([one["meters"] * minute for minute in one["spent_by_each"]] for one in parts)
    return [sum(minute) / meters for minute in zip(*spent, strict=True)]


def _sums(counts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    return {name: sum(one[name] for one in counts) for name in counts[0]}
