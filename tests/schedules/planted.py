"""Bugs planted on purpose, one per design: the simulation must notice each."""

from copy import copy
from dataclasses import replace
from random import Random
from typing import Any

from meteragent.privacy.entropy import Entropy, NoiseKey
from meteragent.stream.partition import TABLE, Command, Event, State
from meteragent.stream.pipeline import Pipeline, Position
from tests.schedules.client import Delivery
from tests.schedules.intake import Outbox
from tests.schedules.scheduler import Steps
from tests.schedules.worker import LEDGER, Batches, Design


class CommitsBeforeDelivery(Design):
    """Records are handed over, and nobody looks whether they arrive."""

    def delivered(self, deliveries: list[Delivery]) -> Steps[None]:
        yield "does not wait"
        del deliveries


class CommitsAtOnce(Design):
    """The table orders the commit together with the sending."""

    table = TABLE | {
        (State.RUNNING, Event.DUE): (State.COMMITTING, (Command.SEND, Command.COMMIT)),
        (State.COMMITTING, Event.DELIVERED): (State.COMMITTING, ()),
    }


class RestoresBeforeFencing(Design):
    """The table reads what is committed while a former owner can still commit."""

    table = TABLE | {
        (State.ASSIGNED, Event.BEGIN): (State.RESTORING, (Command.RESTORE,)),
        (State.RESTORING, Event.RESTORED): (State.FENCING, (Command.FENCE,)),
        (State.FENCING, Event.FENCED): (State.RUNNING, (Command.SEEK,)),
        (State.FAILED, Event.RETRY): (State.RESTORING, (Command.RESTORE,)),
    }


class PassesOpenWindows(Design):
    """The offset of the next record is committed, though open windows need older ones."""

    def position(self, pipeline: Pipeline) -> Position:
        position = super().position(pipeline)
        return replace(position, offset=position.processed, clock=pipeline.clock)


class DrawsAnew(Design):
    """The noise is not a function of the content: every pipeline that is built has its own."""

    def __init__(self) -> None:
        self._dice = Random(0)

    def pipeline(self, *arguments: Any, **settings: Any) -> Pipeline:  # noqa: ANN401
        built = super().pipeline(*arguments, **settings)
        fresh = NoiseKey(self._dice.randbytes(32))
        for cohort in built._cohorts:
            cohort._releaser = copy(cohort._releaser)
            cohort._releaser._entropy = Entropy(fresh, cohort.policy.digest)
        return built


class NeverForgets(Design):
    """An error does not throw memory away."""

    forgets = False


class RestoresAborted(Design):
    """The ledger is read with what was aborted, or may yet be."""

    restores_committed = False


class LeavesLedgerOut(Design):
    """The ledger has no part in the transaction."""

    def batches(self, outbox: Outbox) -> Batches:
        return [batch for batch in super().batches(outbox) if batch[0] != LEDGER]


class TicksAtOnce(Design):
    """The wall clock closes windows before it is committed that it does."""

    announces_ticks = False


class InheritsRuins(Design):
    """A partition that comes back is gone on with, though its last commit did not end."""

    inherits_anything = True


class FeedsStaleRecords(Design):
    """Records that were read before the partition was built anew are fed all the same."""

    drops_stale_records = False
