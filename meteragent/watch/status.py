"""What the agent shows over HTTP: the metrics, the probes, and a page for people.

    /metrics       Prometheus' text, or OpenMetrics
    /healthz       200 while there is progress
    /readyz        200 while every partition of ours runs
    /              the page
    /status.json   what the page shows
    /explorer      what other settings would tell, where http.explorer_file names it

All of it is on the untrusted side: names of the configuration, counts and times.
"""

import json
import math
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, NamedTuple, Protocol

from meteragent import __version__
from meteragent.config import Config
from meteragent.config.allowance import allowance
from meteragent.explain.explain import answers, bits_told
from meteragent.explain.guarantee import Guarantee
from meteragent.privacy import native
from meteragent.privacy.group import GroupPolicy
from meteragent.privacy.terms import JOINT
from meteragent.stream.partition import State
from meteragent.stream.pipeline import DAWN
from meteragent.watch.balances import NOBODY
from meteragent.watch.families import plain
from meteragent.watch.fixed import fixed
from meteragent.watch.gauges import TENTHS, exhaustion
from meteragent.watch.http_message import Request, Response, packed
from meteragent.watch.metrics import Monitor
from meteragent.watch.shown import shown_of
from meteragent.watch.watched import Clocks, Watched
from meteragent.watch.web import Page

TEXT = "text/plain; charset=utf-8"
JSON = "application/json"

Document = dict[str, Any]


class Phrases(NamedTuple):
    """How it is said where readings come from."""

    stalled: str
    running: str
    """Nothing where partitions are counted."""
    waiting: str


OF_KAFKA = Phrases(
    "the brokers or a commit are stuck", "", "Not ready: waiting for Kafka or the consumer group."
)
OF_GATEWAYS = Phrases(
    "the broker or the disk is stuck",
    "Running: the broker answers.",
    "Not ready: waiting for the broker, or reading back the journal.",
)


class Status:
    """Answers for one agent."""

    def __init__(
        self,
        config: Config,
        monitor: Monitor,
        agent: Watched,
        *,
        wall: Callable[[], float] = time.time,
        phrases: Phrases = OF_KAFKA,
        works: Mapping[str, Monitor] | None = None,
    ) -> None:
        """`works` are what else is done in this process, for the metrics to tell of."""
        self._phrases = phrases
        self._works = {work: one.series for work, one in (works or {}).items()}
        self._of_groups = (works or {}).get("groups", monitor if works else None)
        """Who is told of groups: where there are any, homes are summed in the same process."""
        self._deadline = config.agent.progress_deadline / 1000
        tables = (*config.policy, *config.group)
        self._presets = {one.name: one.preset for one in tables if one.preset}
        self._promise = allowance(config).of_any()
        self._monitor = monitor
        self._agent = agent
        self._wall = wall
        self._begun = wall()
        self.fixed = fixed(config.http)
        """What is the same for as long as the agent runs."""

    def pages(self) -> dict[str, Page]:
        """By their paths."""
        return {
            **self.fixed,
            "/status.json": Page(self._json),
            "/metrics": Page(self._metrics),
            **probes(self._agent),
        }

    def report(self) -> dict[str, Any]:
        """How this process is, for the one that speaks for several of them."""
        return {
            "ready": self._agent.ready,
            "alive": self._agent.alive,
            "status": self.document(),
            "families": plain(self._monitor.series.everything(self._works)),
        }

    def _metrics(self, asked: Request) -> Response:
        body, kind = self._monitor.series.expose(asked.headers.get("accept", ""), self._works)
        return packed(Response(body, kind), asked)

    def _json(self, asked: Request) -> Response:
        return as_json(self.document(), asked)

    def document(self) -> Document:
        """Everything that the page shows."""
        now, recent = self._wall(), self._monitor.recent
        records, releases = recent.rates(now)
        return {
            "version": __version__,
            "decoder": native.way(),
            "now": now,
            "up_seconds": now - self._begun,
            "state": self.state(),
            "records_per_second": records,
            "releases_per_second": releases,
            "delay_seconds": {"median": recent.delay(0.5), "most": recent.delay(0.95)},
            "partitions": self._partitions(now),
            "policies": [
                _policy(monitor, guarantee, self._presets, now)
                for monitor in dict.fromkeys(filter(None, (self._monitor, self._of_groups)))
                for guarantee in monitor.guarantees.values()
            ],
            "groups": None
            if self._of_groups is None
            else {"promise": self._promise, **shown_of(self._of_groups)},
            "rejects": self._monitor.series.rejected(),
            "late_last_hour": recent.late(now),
            "mostly_late": recent.mostly_late(now),
            "shared_last_hour": recent.shared(now),
            "mostly_shared": recent.mostly_shared(now),
            "silent_seconds": self._monitor.silence(now),
            "errors": [
                {"at": m.at, "where": m.where, "error": m.error, "place": m.place}
                for m in reversed(recent.mishaps)
            ],
        }

    def state(self) -> Document:
        """How the agent stands: a word, and a sentence for people."""
        agent, states = self._agent, self._monitor.states
        steady = sum(s in {State.RUNNING, State.COMMITTING} for s in states.values())
        share = f"{steady} of {len(states)} partitions"
        if not agent.alive:
            waited = f"for more than {self._deadline:.0f} s"
            return _said("stalled", f"No progress {waited}: {self._phrases.stalled}.")
        if agent.ready:
            nothing = "Waiting: this instance has been given no partition."
            running = self._phrases.running or (f"Running: {share}." if states else nothing)
            return _said("running", running)
        if any(seconds > 1 for seconds in agent.awaited().values()):
            return _said("awaiting", "Not ready: waiting for a schema from the registry.")
        if steady == len(states) and not agent.clocks.trusted:
            problem = _of_clocks(agent.clocks)
            return _said("untimely", f"Not ready: {problem}; only readings close windows.")
        if states and not self._phrases.running:
            return _said("starting", f"Getting ready: {share} running.")
        return _said("starting", self._phrases.waiting)

    def _partitions(self, now: float) -> list[Document]:
        pipelines, lags = self._agent.pipelines(), self._agent.lags()
        blocked, awaited = self._agent.blocked(), self._agent.awaited()
        rows = []
        for number, state in sorted(self._monitor.states.items()):
            pipeline = pipelines.get(number)
            seen = None
            if pipeline and pipeline.clock != DAWN and self._monitor.presence_is_public:
                seen = pipeline.clock / 1000
            rows.append(
                {
                    "partition": number,
                    "state": state.value,
                    "lag": lags.get(number),
                    "blocked_seconds": blocked.get(number, (0, 0.0))[1],
                    "schema_wait_seconds": awaited.get(number, 0.0),
                    "behind_seconds": None if seen is None else max(0.0, now - seen),
                    "processed": pipeline.position().processed if pipeline else None,
                }
            )
        return rows


def _policy(
    monitor: Monitor, guarantee: Guarantee, presets: Mapping[str, str], now: float
) -> Document:
    policy, name, losses = guarantee.policy, guarantee.name, guarantee.losses
    standing = monitor.fleet.standings().get(policy.id, NOBODY)
    left = exhaustion(policy, standing, monitor.recent.asking(name))
    totals = monitor.series.totals(name)
    of = "group" if isinstance(policy, GroupPolicy) else "meter"
    spent = monitor.recent.spent(name, now)
    up_to = [int(n) for n in standing.percent.cumsum()[list(TENTHS)]]
    return {
        "name": name,
        "digest": policy.id,
        "words": guarantee.words,
        "unit": policy.domain.unit,
        "of": of,
        "preset": presets.get(name),
        "beside": [other.name for other in guarantee.beside],
        "budget": float(guarantee.epsilon(policy.budget)),
        "joint": _together(guarantee),
        "answers": [
            {
                "query": a.query,
                "epsilon": float(losses[a.query]) if a.query in losses else None,
                "expected_error": a.expected_error.middle,
                "error_90": a.error_90.middle,
                "bits": a.bits * a.outputs,
                "released": totals["answers"][a.query],
            }
            for a in answers(policy)
        ],
        "meters": standing.meters,
        "exhausted": standing.exhausted,
        "low": standing.low,
        "exhaustion_seconds": left if math.isfinite(left) else None,
        "tenths": [after - before for before, after in zip([0, *up_to], up_to, strict=False)],
        "spent_by_each": [minute / max(1, standing.meters) for minute in spent],
        "windows": totals["windows"],
        "suppressed": totals["suppressed"],
    }


def _together(guarantee: Guarantee) -> Document | None:
    """What all answers of a window lose and tell together, where one draw is for all of them."""
    if guarantee.policy.noise != JOINT:
        return None
    told = bits_told(guarantee.policy)
    return {"epsilon": float(guarantee.losses[JOINT]), "bits": told[JOINT]}


def _of_clocks(clocks: Clocks) -> str:
    """Why the clock closes no windows."""
    if clocks.differs:
        way = "ahead of" if clocks.ahead > 0 else "behind"
        return f"this machine's clock is {abs(clocks.ahead):,.0f} s {way} the brokers'"
    return f"the brokers' time has not been learned for {clocks.age:,.0f} s"


class Probed(Protocol):
    """What probes ask for."""

    @property
    def ready(self) -> bool:
        """Whether every partition of its is running."""

    @property
    def alive(self) -> bool:
        """Whether it gets on."""


def probes(agent: Probed) -> dict[str, Page]:
    """Those of liveness and readiness."""
    return {
        "/healthz": Page(
            lambda _: _probe("alive", "no progress", good=agent.alive), open=True, anytime=True
        ),
        "/readyz": Page(lambda _: _probe("ready", "not ready", good=agent.ready), open=True),
    }


def as_json(document: Document, asked: Request) -> Response:
    """What the page shows, as it fetches it."""
    body = json.dumps(document, separators=(",", ":"), allow_nan=False)
    return packed(Response(body.encode(), JSON), asked)


def _probe(yes: str, no: str, *, good: bool) -> Response:
    status = HTTPStatus.OK if good else HTTPStatus.SERVICE_UNAVAILABLE
    return Response(f"{yes if good else no}\n".encode(), TEXT, status)


def _said(word: str, sentence: str) -> Document:
    return {"word": word, "sentence": sentence}
