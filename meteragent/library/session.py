"""One run over one ledger: readings in, windows out, what was spent written down.

Nothing leaves `commit` unpaid: whoever shows windows to anybody commits first. Killed before, a
run has spent nothing, and the next one makes the same windows of the same readings.
"""

import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from meteragent.errors import InvalidSetting
from meteragent.files.job import NEVER_IDLE
from meteragent.files.ledger import IN_MEMORY, SqliteLedger
from meteragent.formats.release_columns import CellKind, columns_of
from meteragent.library.outcome import Column, table
from meteragent.library.plan import KeyLike, PolicyPlan
from meteragent.library.rows import Cells, Tallied, batches
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
        config, self._key = plan.config, plan.noise_key(key)
        longer = NEVER_IDLE if by_meter else 0
        if by_meter and any(policy.presence == "private" for policy in config.policies):
            problem = "closes windows as each meter is heard, and presence is private"
            raise InvalidSetting("by_meter", problem, "sort the rows by time, and leave it out")
        self._longer, self._wall, self._policies = longer, wall, config.policies
        self._assigned = [
            replace(one.with_idle(one.policy.idle + longer), counts=counts)
            for one in config.assigned
        ]
        self.kinds: dict[str, CellKind] = columns_of(config.policies)
        self.tallied = Tallied()
        self._accounts: dict[str, bytes] = {}
        self._pipeline = Pipeline(
            self._assigned,
            self._key,
            max_skew=config.agent.max_skew,
            max_meters=config.agent.max_meters,
            normalise_ids=config.agent.normalise_ids,
        )
        self._ledger = SqliteLedger(IN_MEMORY if ledger is None else str(ledger))
        try:
            self._ledger.refuse_another(self._key.fingerprint)
            self._pipeline.restore(self._ledger.accounts())
        except BaseException:
            self._ledger.close()
            raise

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
        due = max(p.closes(p.windows.newest(self._pipeline.clock)) for p in self._policies)
        steps = []
        if self._pipeline.holds_open:
            now = min(due, int(self._wall() * 1000)) + self._longer
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
            accounts=self._accounts,
            policies={one.policy.id: json.dumps(one.policy.document()) for one in self._assigned},
        )
        self._accounts = {}

    def _fed(self, rows: Cells, *, by_time: bool) -> Iterator[Step]:
        for batch in batches(rows, self.tallied, by_time=by_time):
            yield from self._pipeline.feed(batch.readings)
            self.tallied.count(self._pipeline.counted(), batch)

    def _noted(self, steps: Iterable[Step]) -> Iterator[Step]:
        for step in steps:
            reasons = step.releases.reasons
            self._accounts.update(step.accounts)
            self.tallied.released += len(step.releases.meters) - reasons.total()
            self.tallied.withheld.update({str(why): count for why, count in reasons.items()})
            yield step
