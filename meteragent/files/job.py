"""The loop: lines in, releases out, and the ledger true at every moment.

Between two commits nothing that was written counts: releases are on the disk first, then one
SQLite transaction says what they cost, where the input stands, and how long the output is.
Killed at any moment, a job cuts its output back to that length and goes on from there, with
the same batches in the same order, so that nobody can tell from the output.

At the end of the input, what is still open is closed, unless it is to be kept for a file that
grows: every window that began, if it is over by the wall clock. One that is not over could
still be filled, and a window is released once: it waits for the next run.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from meteragent.config import Config, pipelines
from meteragent.errors import InputDamaged, InputReplaced, InvalidSetting
from meteragent.files.ledger import Resume
from meteragent.files.outputs import Outputs
from meteragent.files.paths import Paths
from meteragent.files.progress import Progress
from meteragent.files.sink import File
from meteragent.files.source import LineBlock
from meteragent.files.steps import Steps
from meteragent.files.totals import Totals
from meteragent.formats.forms import ReleaseEncoder
from meteragent.formats.json_one import LATEST
from meteragent.formats.lines import LineReader, decoder_of
from meteragent.formats.mapping import Mapping
from meteragent.privacy.entropy import NoiseKey
from meteragent.privacy.policy import Policy
from meteragent.stream.meters import Assigned
from meteragent.stream.pipeline import Pipeline, Position
from meteragent.stream.releases import Document, Releases, Step, stages

NEVER_IDLE = 2**45
"""Milliseconds by which no two clocks differ."""


class Job:
    """One input, sanitized as far as it goes."""

    def __init__(
        self,
        places: Paths,
        config: Config,
        key: NoiseKey,
        mapping: Mapping,
        encoder: ReleaseEncoder,
        *,
        keep: bool = False,
        by_meter: bool = False,
        say: Callable[[str], object] = lambda _: None,
        progress: Progress | None = None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """Prepare.

        `keep`: at the end, leave open what is open. `by_meter`: the input holds one meter after
        the other, so that no meter's clock says anything of another's.
        """
        self._source, self._sink = places.source, places.sink
        self._rejects, self._ledger = places.rejects, places.ledger
        self._members, self._config, self._key = places.members, config, key
        self._mapping = mapping
        self._outputs = Outputs(places.sink, encoder, places.copies)
        self._keep = keep
        self._longer_idle = NEVER_IDLE if by_meter else 0
        self._assigned = [
            one.with_idle(one.policy.idle + self._longer_idle) for one in config.assigned
        ]
        if by_meter and any(policy.presence == "private" for policy in self.policies):
            raise InvalidSetting(
                "--by-meter",
                "closes windows as each meter is heard, and presence is private",
                "sort IN by time, and leave it out",
            )
        self._say, self._progress, self._wall = say, progress, wall
        self._standing = Resume()
        self.totals = self._standing.totals
        self._pipeline: Pipeline | None = None
        self._lines: LineReader | None = None
        self.held: Counter[int] = Counter()
        """How many windows of this run hold which percent of their slots."""
        self._accounts: dict[str, bytes] = {}
        self._committed_at = time.monotonic()
        self.known, self.steps = Totals(), Steps()  # before this run, and in it
        self._heard = 0

    def run(self) -> None:
        """Take in all that there is, and release what is due.

        InputDamaged, InputReplaced: the input cannot be read on; what stood before is done.
        """
        self._ledger.refuse_another(self._key.fingerprint)
        self._open_outputs()
        try:
            for block in self._source.blocks():
                if block.lines:
                    self._take(block)
                else:
                    self._pause()
                self._commit_if_due()
        except (InputDamaged, InputReplaced):
            if self._pipeline is not None:
                self._commit(self._pipeline)
            raise
        if self._pipeline is not None:
            self._end(self._pipeline)

    @property
    def policies(self) -> Sequence[Policy]:
        """What is released."""
        return [one.policy for one in self._released]

    @property
    def _published(self) -> Iterator[Policy]:
        """Those that releases name."""
        return (policy for one in self._released for policy in (one.policy, *one.tiers))

    @property
    def _released(self) -> Sequence[Assigned]:
        return self._assigned

    @property
    def lookalikes(self) -> int:
        """How many meters there are whose ids differ from another's by their spelling alone."""
        if self._pipeline is None or self._config.agent.normalise_ids:
            return 0
        return self._pipeline.lookalikes()

    def _open_outputs(self) -> None:
        """From here on, what is in them is known to be ours."""
        for sink in (*self._outputs.sinks, self._rejects):
            if isinstance(sink, File):
                self._ledger.commit(lengths={sink.name: sink.length})
                sink.cut()
        self._outputs.begin()

    # Lines in.

    def _take(self, block: LineBlock) -> None:
        pipeline = self._pipeline or self._begin(block)
        assert self._lines is not None  # noqa: S101 - _begin has found it
        self._heard = int(self._wall() * 1000)
        block = block.since(max(self._standing.position.offset, self._lines.header_lines))
        if block.lines:
            self.steps.look(readings := self._lines.decode(block.text, block.first))
            self._write(pipeline.feed(readings))
            self._count(pipeline)
        if self._progress is not None:
            self._progress.show(self._source.consumed, self.totals.readings - self.known.readings)

    def _begin(self, block: LineBlock) -> Pipeline:
        """Look into the first lines, and go on where the last run came to."""
        self._lines = decoder_of(self._source.shown, block.text, self._mapping)
        known = self._ledger.standing(self._name)
        if known.head == self._source.digest(known.head_bytes):
            self._standing = known
            self._leave(known.output)
        elif known.head:
            self._say(f"{self._source.shown}: begins otherwise than before: read from its start")
        self.totals = self._standing.totals
        self.known = Totals.from_json(self.totals.to_json())
        self._pipeline = self._built(self._standing.position)
        return self._pipeline

    @property
    def _name(self) -> str:
        """By which the ledger knows how far the input has come."""
        return self._source.name

    def _built(self, start: Position) -> Pipeline:
        """The meters, as the ledger knows them."""
        pipeline = pipelines.of_meters(self._config, self._key, self._assigned, start=start)
        pipeline.restore(self._ledger.accounts())
        return pipeline

    def _leave(self, output: str) -> None:
        """Where releases went so far, if they go somewhere else from now on."""
        if not output or output == self._sink.name:
            return
        self._say(f"{self._source.shown}: what was released before is in {output}")
        if Path(output).exists():
            left = File(Path(output), self._ledger.length(output))
            left.cut()
            left.close()

    # Releases out.

    def _write(self, steps: Iterable[Step]) -> None:
        """In an order that does not depend on where a run or a block began."""
        for stage in stages(steps):
            documents: list[Document] = []
            for step in stage:
                documents += step.written(self._outputs.encode)
                self._note(step)
                self.totals.decide(step.releases)
                self._weigh(step.releases)
            documents.sort()
            self._outputs.write(documents)

    def _note(self, step: Step) -> None:
        """Keep what is to be written down."""
        self._accounts.update(step.accounts)

    def _weigh(self, releases: Releases) -> None:
        """Note how many of their slots windows hold, where gaps are seen and not filled."""
        policy = releases.policy
        if policy.presence == "public" and not policy.fill_limit:
            self.held.update((100 * releases.held // releases.slots).tolist())

    def _count(self, pipeline: Pipeline) -> None:
        counts = pipeline.counted()
        counts.rejects.sort(key=lambda reject: reject.offset)
        self.totals.count(counts)
        if self._rejects is not None and counts.rejects:
            documents = (
                {"input": self._source.shown, "line": r.offset + 1, "reason": r.reason}
                for r in counts.rejects
            )
            lines = [json.dumps(document).encode() + b"\n" for document in documents]
            self._rejects.write(b"".join(lines))

    # Commits, pauses, the end.

    def _commit_if_due(self) -> None:
        since = time.monotonic() - self._committed_at
        if self._pipeline is not None and since * 1000 >= self._config.agent.commit_interval:
            self._commit(self._pipeline)

    def _commit(self, pipeline: Pipeline, clock: int = LATEST) -> None:
        """Make everything so far true; `clock`: the latest that a next run may start from."""
        position = pipeline.position()
        position = replace(position, clock=min(position.clock, clock))
        sinks = [sink for sink in (*self._outputs.sinks, self._rejects) if sink is not None]
        for sink in sinks:
            sink.sync()
        head = self._source.head
        self._ledger.commit(
            lengths={sink.name: sink.length for sink in sinks if sink.name},
            key=self._key.fingerprint,
            policies={policy.id: json.dumps(policy.document()) for policy in self._published},
            **self._spent(pipeline),
            standings={
                self._name: Resume(
                    position,
                    len(head),
                    self._source.digest(len(head)),
                    self._sink.name,
                    self.totals,
                )
            },
        )
        self._accounts = {}
        self._committed_at = time.monotonic()

    def _spent(self, pipeline: Pipeline) -> dict[str, Any]:
        """What the ledger is to say of accounts."""
        del pipeline
        return {"accounts": self._accounts}

    def _pause(self) -> None:
        """A growing input has no more for now: once it is long silent, the clock may close windows.

        Why so late: a writer that pauses for a moment may be far behind the clock, and what
        it writes next would all be late.
        """
        now = int(self._wall() * 1000)
        silent = max(policy.grace + policy.idle for policy in self.policies)
        if self._pipeline is not None and now - self._heard > silent:
            self._write(self._pipeline.tick(now))
            self._count(self._pipeline)

    def _end(self, pipeline: Pipeline) -> None:
        before = self._standing.position.processed
        if self._source.lines < before:
            raise InputDamaged(
                self._source.shown,
                self._source.lines,
                f"is the last, but the last run came to line {before}",
                "give the whole file again",
            )
        if before == self._source.lines:
            self._say(f"{self._source.shown}: nothing new after line {before}")
        clock = pipeline.clock
        if not self._keep and pipeline.holds_open:
            self._write(pipeline.tick(self._end_of_windows(clock)))
            self._count(pipeline)
        if pipeline.holds_open:
            self._say("the last windows are still open: they wait for more, or for the clock")
        self._commit(pipeline, clock)

    def _end_of_windows(self, clock: int) -> int:
        """When every window that has begun is due, or now, if they are not over yet."""
        due = (policy.closes(policy.windows.newest(clock)) for policy in self.policies)
        return min(max(due), int(self._wall() * 1000)) + self._longer_idle
