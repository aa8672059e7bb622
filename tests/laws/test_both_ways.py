"""With the wheel and without it: the same releases, ledger records and positions, byte for byte.

Whoever goes on from what the other way has written down goes on as if it had been its own.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meteragent.privacy import native
from meteragent.privacy.domain import Domain
from meteragent.stream.pipeline import Assigned
from tests.given import SECOND, readings
from tests.laws import test_carried as of_carried
from tests.laws import test_counters as of_registers
from tests.laws import test_groups as of_groups
from tests.laws import test_partials as of_partials
from tests.laws import test_pipeline as of_power

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from meteragent.privacy.members import Membership
    from meteragent.stream.closed import Tally
    from meteragent.stream.releases import Step
    from tests.given import Record

pytestmark = pytest.mark.fast

Policies = tuple[Assigned, ...]


def finer(policies: Policies) -> Policies:
    """The same, with answers on a finer grid: slots hold steps."""
    grid = Domain(0, 1000, 10, Decimal("0.5"))
    return tuple(replace(one, policy=replace(one.policy, domain=grid)) for one in policies)


def longer(policies: Policies) -> Policies:
    """Others of the same names: what was open under one of these is lost to the other."""
    return tuple(
        replace(one, policy=replace(one.policy, grace=one.policy.grace + 10 * SECOND))
        for one in policies
    )


WORLDS = st.sampled_from(
    [
        (of_power.logs, of_power.POLICIES),
        (of_carried.logs, of_carried.POLICIES),
        (of_carried.logs, finer(of_carried.POLICIES)),
        (of_registers.logs, of_registers.ALL),
        (of_registers.logs, finer(of_registers.ALL)),
    ]
)
FATES = st.lists(st.tuples(st.integers(1, 12), of_carried.FATES, st.booleans()), max_size=8)
"""How many records come, what then happens, and whether the settings are others from then on."""


@contextmanager
def by(wheel: object) -> Iterator[None]:
    with patch.object(native, "wheel", wheel):
        yield


class Run:
    """An agent that crashes and goes on, by one way or by the other."""

    def __init__(self, policies: Policies, ways: Sequence[object]) -> None:
        self.published, self.counted = of_power.Published(), [0] * 4
        self._settings, self._ways = [policies, longer(policies)], [*ways]
        self._begin()

    def _begin(self) -> None:
        with by(self._ways[0]):
            self.one = of_carried.pipeline(self.published, self._settings[0])
        self.fed = self.published.position.offset
        self._waiting: list[Step] = []

    def go(self, log: list[Record], fate: str, *, changed: bool) -> None:
        """Take records in; commit, or crash and go on by the next way."""
        with by(self._ways[0]):
            if len(log) > self.fed:
                self._waiting += self.one.feed(readings(log[self.fed :], self.fed))
                self.fed = len(log)
            if "commit" in fate:
                self.published.commit(self.one, self._waiting)
                self._waiting = []
                tally = self.one.counted().tally
                self.counted = [a + b for a, b in zip(self.counted, of(tally), strict=True)]
        if "crash" in fate:
            self._ways.append(self._ways.pop(0))
            if changed:
                self._settings.reverse()
            self._begin()

    def end(self, now: int) -> None:
        with by(self._ways[0]):
            self.published.commit(self.one, self.one.tick(now))


def of(tally: Tally) -> list[int]:
    return [tally.accepted, tally.late, tally.duplicate, tally.unpaired]


@settings(max_examples=max(30, settings().max_examples // 10))
@given(st.data(), WORLDS, FATES, of_carried.LONGER, st.sampled_from([3, 2**14]))
def test_meters(
    data: st.DataObject,
    world: tuple[object, Policies],
    fates: list[tuple[int, str, bool]],
    longer: int,
    much: int,
) -> None:
    logs, policies = world
    log = data.draw(logs())  # type: ignore[operator]
    runs = [
        Run(policies, ways)
        for ways in ([None], [native.wheel], [native.wheel, None], [None, native.wheel])
    ]
    with of_carried.carried_after(longer), of_power.at_once(much):
        for run in runs:
            upto = 0
            for length, fate, changed in [*fates, (len(log), "commit", False)]:
                upto = min(max(upto, run.fed) + length, len(log))
                run.go(log[:upto], fate, changed=changed)
            run.end(log[-1].written + 1000 * SECOND)
    for run in runs[1:]:
        assert run.published == runs[0].published
        assert run.counted == runs[0].counted


@given(of_groups.memberships(), of_groups.logs())
@settings(max_examples=15)
def test_groups(members: list[Membership], log: list[Record]) -> None:
    found = of_groups.straight(members, log)
    with by(None):
        assert of_groups.straight(members, log) == found


@given(of_groups.memberships(), of_groups.logs(), of_partials.PARTITIONS, of_partials.DOINGS)
@settings(max_examples=10)
def test_groups_whose_homes_are_spread_over_partitions(
    members: list[Membership],
    log: list[Record],
    partitions: tuple[int, int],
    doings: list[tuple[int, int, int]],
) -> None:
    def world() -> of_partials.World:
        made = of_partials.World(members, log, *partitions)
        made.go(doings)
        return made

    one = world()
    with by(None):
        other = world()
    assert one.topics == other.topics
    assert one.releases == other.releases
    for its, others in ((one.sources, other.sources), (one.sinks, other.sinks)):
        assert [it.ledger for it in its] == [it.ledger for it in others]
        assert [it.position for it in its] == [it.position for it in others]
