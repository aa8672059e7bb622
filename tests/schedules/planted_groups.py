"""Bugs planted on purpose where groups are released: the schedules of groups must notice each."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from meteragent.kafka import takeover
from meteragent.kafka.memberships import MembersTopic
from meteragent.kafka.outbox import Outbox
from meteragent.kafka.restore import Kept
from meteragent.kafka.work import known
from meteragent.privacy.members import Membership
from meteragent.stream.home_panes import HomePanes, PaneSum
from meteragent.stream.meters import AssignedGroups
from meteragent.stream.partial_homes import PartialHomes
from meteragent.stream.pipeline import Position
from meteragent.stream.total_pipeline import TotalPipeline
from meteragent.stream.totals import PaneTotals, Settled
from tests.schedules.clients import ModelClients
from tests.schedules.consumer import Consumer
from tests.schedules.planted import Planted

Bug = AbstractContextManager[object]


def tells_again_after_a_takeover() -> Bug:
    """Whoever takes homes over does not know what was told of them."""
    return patch.object(PartialHomes, "go_on", lambda *_: None)


def counts_again_after_a_takeover() -> Bug:
    """Whoever takes groups over does not know which panes were decided."""
    real = PaneTotals.go_on

    def go_on(self: PaneTotals, kept: Settled) -> None:
        del kept
        real(self, Settled())

    return patch.object(PaneTotals, "go_on", go_on)


def says_nothing_of_silence() -> Bug:
    """A partition in which nobody was heard does not report how far it has come."""
    real = PartialHomes._partials

    def partials(
        self: PartialHomes, panes: HomePanes, one: AssignedGroups, told: PaneSum
    ) -> Iterator[tuple[int, bytes]]:
        if told.so_far.any():
            yield from real(self, panes, one, told)

    return patch.object(PartialHomes, "_partials", partials)


def reads_what_is_not_committed() -> Bug:
    """What partitions tell is believed before it is committed, or though it is aborted."""

    def consumer(self: ModelClients, **options: Any) -> Consumer:  # noqa: ANN401 - aiokafka's own
        level = {"isolation_level": "read_uncommitted"}
        return self.consumer(**options, **level)

    return patch.object(ModelClients, "input", consumer)


def forgets_open_sums() -> Bug:
    """What a window of a group has been told of so far is lost with whoever was told."""
    real = known

    def lacking(kept: Kept) -> dict[str, bytes]:
        found = real(kept)
        return {name: its for name, its in found.items() if name.startswith("\0")}

    return patch.object(takeover, "known", lacking)


def decides_too_soon() -> Bug:
    """Nobody is waited for."""
    return patch.object(PaneTotals, "awaited", lambda *_: frozenset())


def passes_undecided_panes() -> Bug:
    """The offset of the next record is committed, though panes need older ones."""
    real = TotalPipeline.position

    def position(self: TotalPipeline) -> Position:
        return replace(real(self), offset=self._processed)

    return patch.object(TotalPipeline, "position", position)


def tells_nobody() -> Bug:
    """What is told has no part in the transaction."""
    return patch.object(Outbox, "tell", lambda *_: None)


def notices_no_moves() -> Bug:
    """Whoever has read who is in which group does not look again."""

    async def watch(self: MembersTopic, known: Sequence[Membership]) -> None:
        del self, known
        await asyncio.Event().wait()

    return patch.object(MembersTopic, "watch", watch)


BUGS = (
    Planted(tells_again_after_a_takeover, 20, "is told of", "groups"),
    Planted(counts_again_after_a_takeover, 100, "negative dimensions", "groups", seen=29),
    Planted(says_nothing_of_silence, 20, "Broken", "groups"),
    Planted(reads_what_is_not_committed, 50, "Broken", "groups"),
    Planted(forgets_open_sums, 50, "Broken", "groups"),
    Planted(decides_too_soon, 20, "Broken", "groups"),
    Planted(passes_undecided_panes, 50, "Broken", "groups"),
    Planted(tells_nobody, 20, "Broken", "groups"),
    Planted(notices_no_moves, 20, "Broken", "groups"),
)
