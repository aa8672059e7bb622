"""One run over one ledger: readings in, windows out, what was spent written down.

Nothing leaves `commit` unpaid: whoever shows windows to anybody commits first. Killed before, a
run has spent nothing, and the next one makes the same windows of the same readings.
"""

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from meteragent.config import pipelines
from meteragent.errors import InvalidSetting
from meteragent.files.job import NEVER_IDLE
from meteragent.files.ledger import IN_MEMORY, SqliteLedger
from meteragent.formats.release_columns import CellKind, columns_of
from meteragent.library.outcome import Column, table
from meteragent.library.plan import KeyLike, PolicyPlan
from meteragent.library.rows import Cells, Ids, Tallied, batches
from meteragent.stream.meters import Assigned
from meteragent.stream.pipeline import Pipeline
from meteragent.stream.releases import Step


class Session:
    """Readings of one table, protected as far as they go."""

    def __init__(
        self,
        plan: PolicyPlan,
        key: KeyLike,
        ledger: str | Path | None,
        *,
        by_meter: bool = False,
        counts: bool = False,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """Open the ledger, or make it; None keeps accounts for this run alone.

        `by_meter`: rows come one meter after the other, so that no meter's clock says anything of
        another's. `counts`: values are what registers show.
        """
        self._config, self._key = plan.config, plan.noise_key(key)
        self._longer, self._wall = NEVER_IDLE if by_meter else 0, wall
        self._counts = counts
        policies = [one.policy for one in self._released]
        if by_meter and any(policy.presence == "private" for policy in policies):
            problem = "closes windows as each meter is heard, and presence is private"
            raise InvalidSetting("by_meter", problem, "sort the rows by time, and leave it out")
        self.kinds: dict[str, CellKind] = columns_of(policies)
        self.tallied, self._ids = Tallied(), Ids()
        self._accounts: dict[str, bytes] = {}
        self._ledger = SqliteLedger(IN_MEMORY if ledger is None else str(ledger))
        try:
            self._ledger.refuse_another(self._key.fingerprint)
            self._pipeline = self._built()
        except BaseException:
            self._ledger.close()
            raise

    @property
    def _released(self) -> Sequence[Assigned]:
        """What is released: of meters."""
        return [
            replace(one.with_idle(one.policy.idle + self._longer), counts=self._counts)
            for one in self._config.assigned
        ]

    def _built(self) -> Pipeline:
        """The meters, as the ledger knows them."""
        pipeline = pipelines.of_meters(self._config, self._key, self._released)
        pipeline.restore(self._ledger.accounts())
        return pipeline

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._ledger.close()

    def feed(self, rows: Cells, *, by_time: bool) -> dict[str, Column]:
        """Take in rows; answer with the windows that they close."""
        return table(self.kinds, self._noted(self._fed(rows, by_time=by_time)))

    def end(self) -> dict[str, Column]:
        """Close every window that has begun and is over, by the clock of this machine."""
        steps = []
        if self._pipeline.holds_open:
            policies, clock = [one.policy for one in self._released], self._pipeline.clock
            due = max(policy.closes(policy.windows.newest(clock)) for policy in policies)
            now = min(due, int(self._wall() * 1000) + self._longer)
            steps = [*self._noted(self._pipeline.tick(now))]
        self.tallied.open = self._pipeline.holds_open
        return table(self.kinds, steps)

    def paid_for(self, output: Path) -> bool:
        """Whether an earlier run has paid for all that it wrote there."""
        return self._ledger.length(str(output.resolve())) is not None

    def commit(self, output: Path | None = None, length: int = 0) -> None:
        """Write down what all windows so far have cost: from then on they may be shown.

        `output`: where all of them stand, in so many bytes.
        """
        self._ledger.commit(
            lengths={} if output is None else {str(output.resolve()): length},
            key=self._key.fingerprint,
            policies={one.policy.id: json.dumps(one.policy.document()) for one in self._released},
            **self._spent(),
        )

    def _spent(self) -> dict[str, Any]:
        """What the ledger is to say of accounts."""
        accounts, self._accounts = self._accounts, {}
        return {"accounts": accounts}

    def _fed(self, rows: Cells, *, by_time: bool) -> Iterator[Step]:
        for batch in batches(rows, self._ids, self.tallied, by_time=by_time):
            yield from self._pipeline.feed(batch.readings)
            self.tallied.count(self._pipeline.counted(), batch)

    def _noted(self, steps: Iterable[Step]) -> Iterator[Step]:
        for step in steps:
            reasons = step.releases.reasons
            self._note(step)
            self.tallied.released += len(step.releases.meters) - reasons.total()
            self.tallied.withheld.update({str(why): count for why, count in reasons.items()})
            yield step

    def _note(self, step: Step) -> None:
        """Keep what is to be written down."""
        self._accounts.update(step.accounts)
