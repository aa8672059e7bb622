"""Several processes of one consumer group on one machine: started, and started anew when they end.

Each is an agent of its own, whose partitions the group deals out. One that dies loses nothing: the
others take its partitions over, and it comes back. What cannot get better by starting again, a lost
ledger for one, ends them all, with the code that the agent itself ends with.
"""

import asyncio
import os
import signal
import socket
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge

from meteragent.config import Config
from meteragent.process.instance import FIRST_RETRY_SECONDS, heeded
from meteragent.process.loop import LAST_RETRY_SECONDS, Clock, back_off, unless
from meteragent.process.reports import EVERY_SECONDS, VARIABLE, Report, framed, reports

_log = structlog.get_logger()

PATIENCE_SECONDS = 10.0
"""Longer than `agent.drain_deadline` a process is let end; then it is killed."""
SILENT_SECONDS = 5 * EVERY_SECONDS
"""Who has told nothing for as long is not ready."""
ENDS = ("killed", "failed", "ended")
MISHAPS = 20


class Ends(NamedTuple):
    """What exit codes mean."""

    curable: frozenset[int]
    """To start again may help after these."""
    killed: int
    """What is said of one that was killed while it drained."""


class Post:
    """One of several processes: the one that runs now, and what was last heard of it."""

    def __init__(self, number: int, clock: Clock) -> None:
        self.number = number
        self.counts = os.memfd_create(f"meteragent-counts-{number}")
        self.report: Report | None = None
        self.process: asyncio.subprocess.Process | None = None
        self.heard = clock()
        self.fresh = False
        """Whether the process that runs has told of itself."""
        self._told: int | None = None
        self._now = clock

    async def live(self, command: Sequence[str], text: str) -> int:
        """Run a process to its end, with this configuration; its exit code."""
        ours, its = socket.socketpair()
        with its:
            told = f"{self.number}:{its.fileno()}:{self.counts}"
            environ = {k: v for k, v in os.environ.items() if k not in _OURS}
            self.process = await asyncio.create_subprocess_exec(
                *command,
                env=environ | {VARIABLE: told},
                pass_fds=(its.fileno(), self.counts),
            )
        self.heard = self._now()
        if self._told is not None:
            self.process.send_signal(self._told)
        reader, writer = await asyncio.open_connection(sock=ours)
        try:
            writer.write(framed(text.encode()))
            async for report in reports(reader):
                self.report, self.heard, self.fresh = report, self._now(), True
            return await self.process.wait()
        finally:
            writer.close()
            self.fresh = False
            await self._end()

    async def _end(self) -> None:
        """It never outlives whoever started it."""
        if self.process is not None and self.process.returncode is None:
            self.process.kill()
            await self.process.wait()

    def signal(self, number: int) -> None:
        """Tell the process, or the next one that is about to begin."""
        self._told = number
        if self.process is not None and self.process.returncode is None:
            with suppress(ProcessLookupError):
                self.process.send_signal(number)

    def silence(self) -> float:
        """For how many seconds nothing was heard of the process."""
        return self._now() - self.heard


_OURS = frozenset({"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"})
"""What the service manager tells this process is not for its children."""


class Processes:
    """All of them. They begin together and end together."""

    def __init__(
        self,
        config: Config,
        text: str,
        count: int,
        command: Sequence[str],
        ends: Ends,
        clock: Clock = time.monotonic,
    ) -> None:
        """`text`: that of the configuration, to be the same for all of them.

        `command` starts an agent that finds what it is given; `ends`: how it may end.
        """
        self._config, self._text, self._command, self._now = config, text, command, clock
        self._means = ends
        self._places = [Post(number, clock) for number in range(count)]
        self._stopping = asyncio.Event()
        self._code = 0
        self._mishaps: deque[dict[str, Any]] = deque(maxlen=MISHAPS)
        self.registry = CollectorRegistry()
        _gauges(self)
        self._ends = Counter(
            "meteragent_process_ends",
            "Processes that ended without being told to: killed by a signal, failed, or ended as "
            "if they had been told to.",
            ("how",),
            registry=self.registry,
        )
        for how in ENDS:
            self._ends.labels(how)

    async def run(self) -> int:
        """Run until a signal, or an end that starting again does not mend; the exit code."""
        with heeded(self.stop):
            try:
                async with asyncio.TaskGroup() as tasks:
                    kept = [tasks.create_task(self._keep(place)) for place in self._places]
                    await self._stopping.wait()
                    await self._drain(kept)
            except* Exception as group:
                raise group.exceptions[0] from group  # or its kind would not be told
        return self._code

    def stop(self) -> None:
        """Let all of them commit what there is, and end."""
        self._stopping.set()

    async def _keep(self, place: Post) -> None:
        failures = 0
        while not self._stopping.is_set():
            begun = self._now()
            code = await place.live(self._command, self._text)
            if self._stopping.is_set():
                self._ended(place, code)
            elif code > 0 and code not in self._means.curable:
                _log.error("process gives up", process=place.number, code=code)
                self._code = code
                self.stop()
            else:
                failures = 1 if self._now() - begun > LAST_RETRY_SECONDS else failures + 1
                await self._wait(place, code, back_off(FIRST_RETRY_SECONDS, failures))

    def _ended(self, place: Post, code: int) -> None:
        """It was told to. One that had not heard of signals yet has nothing to commit."""
        if code in {0, -signal.SIGTERM}:
            return
        by, left = _how(code)
        _log.error("process ended badly", process=place.number, signal=by, code=left)
        self._code = self._code or (code if code > 0 else self._means.killed)

    async def _wait(self, place: Post, code: int, seconds: float) -> None:
        self._ends.labels("killed" if code < 0 else "failed" if code else "ended").inc()
        by, left = _how(code)
        _log.error("process ended", process=place.number, retry_in=seconds, signal=by, code=left)
        error = f"signal {by}" if by else f"code {left}"
        where = f"process {place.number}"
        self._mishaps.append({"at": time.time(), "where": where, "error": error, "place": ""})
        await unless(self._stopping, asyncio.sleep(seconds))

    async def _drain(self, kept: Sequence[asyncio.Task[None]]) -> None:
        """All are told, and have as long as draining may take."""
        patience = self._config.agent.drain_deadline / 1000 + PATIENCE_SECONDS
        for number, seconds in ((signal.SIGTERM, patience), (signal.SIGKILL, PATIENCE_SECONDS)):
            for place in self._places:
                place.signal(number)
            _, left = await asyncio.wait(kept, timeout=seconds)
            if not left:
                return

    # What is asked of them by those who show how they are.

    @property
    def wanted(self) -> int:
        """How many are to run."""
        return len(self._places)

    @property
    def running(self) -> int:
        """How many run."""
        return sum(p.process is not None and p.process.returncode is None for p in self._places)

    @property
    def ready(self) -> bool:
        """Whether all of them are."""
        return not self.stopping and self._ready == self.wanted

    @property
    def _ready(self) -> int:
        return sum(
            p.fresh and p.silence() < SILENT_SECONDS and bool(p.report and p.report["ready"])
            for p in self._places
        )

    @property
    def alive(self) -> bool:
        """Whether those that run get on; who is started anew is looked after."""
        deadline = self._config.agent.progress_deadline / 1000
        return all(
            p.process is None
            or p.process.returncode is not None
            or (p.silence() < deadline and (not p.fresh or bool(p.report and p.report["alive"])))
            for p in self._places
        )

    @property
    def stopping(self) -> bool:
        """Whether they have been told to end."""
        return self._stopping.is_set()

    @property
    def sentence(self) -> tuple[str, str]:
        """How they stand: a word, and a sentence for people."""
        share = f"{self._ready} of {self.wanted} processes"
        if not self.alive:
            return "stalled", f"A process makes no progress; {share} are ready."
        if self.ready:
            return "running", f"Running: {share}."
        return "starting", f"Getting ready: {share}."

    def reports(self) -> list[tuple[Mapping[str, Any], bool]]:
        """The last that each has told, and whether it lives."""
        return [(p.report, p.fresh) for p in self._places if p.report is not None]

    def mishaps(self) -> list[dict[str, Any]]:
        """Ends that nobody had asked for, the last ones."""
        return list(self._mishaps)


def _how(code: int) -> tuple[int | None, int | None]:
    """By which signal, or with which code."""
    return (-code, None) if code < 0 else (None, code)


def _gauges(processes: Processes) -> None:
    for name, meaning, value in (
        ("ready", "Whether every partition of this instance runs.", lambda: processes.ready),
        ("alive", "Whether there is progress, as /healthz says.", lambda: processes.alive),
        ("processes", "Processes that run.", lambda: processes.running),
        ("processes_wanted", "Processes that should run.", lambda: processes.wanted),
    ):
        Gauge(f"meteragent_{name}", meaning, registry=processes.registry).set_function(value)
