"""Whatever comes first, fails, hangs or goes on as a zombie: every window once, none lost."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import warnings
from time import process_time
from typing import TYPE_CHECKING

import pytest

from tests.schedules import planted, planted_groups, schedule
from tests.schedules.schedule import failure, trace

if TYPE_CHECKING:
    from tests.schedules.planted import Planted
    from tests.schedules.schedule import Kind


def sweep(seeds: range, kind: Kind = "punctual") -> None:
    """Run schedules; fail with the first seed that fails, and its steps."""
    found = next(filter(None, (failure(seed, kind) for seed in seeds)), None)
    if found is not None:
        pytest.fail(found, pytrace=False)


@pytest.mark.parametrize("first", range(0, 40, 20))
def test_no_schedule_releases_a_window_twice_or_loses_one(first: int) -> None:
    sweep(range(first, first + 20))


def test_no_schedule_with_late_readings_draws_twice() -> None:
    sweep(range(20), "late")


def test_in_no_schedule_an_old_configuration_comes_back() -> None:
    sweep(range(20), "update")


@pytest.mark.parametrize("first", range(0, 60, 30))
def test_in_no_schedule_somebody_goes_on_without_the_ledger(first: int) -> None:
    sweep(range(first, first + 30), "loss")


@pytest.mark.slow
@pytest.mark.parametrize("first", range(10_000, 30_000, 500))
def test_none_of_many_schedules_does(first: int) -> None:
    sweep(range(first, first + 350))
    sweep(range(first + 350, first + 500), "late")


def test_in_every_schedule_groups_are_released_as_if_nothing_happened() -> None:
    sweep(range(5), "groups")


def test_in_no_schedule_with_late_readings_a_group_is_drawn_twice() -> None:
    sweep(range(3), "late-groups")


@pytest.mark.slow
@pytest.mark.parametrize("first", range(10_000, 14_000, 250))
def test_in_all_of_many_schedules_groups_are(first: int) -> None:
    sweep(range(first, first + 200), "groups")
    sweep(range(first + 200, first + 250), "late-groups")


def test_what_can_never_be_sent_in_time_is_said_and_not_just_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In this world 75 windows are over at once, and each is a request: that takes too long."""
    monkeypatch.setitem(schedule.BATCHES, "late", 1)
    found = failure(2, "late")
    assert found is not None
    assert "Stalled" in found.partition("\n")[0]
    assert "75 records of partition 1 were not committed in time; next time" in found
    assert "error=TimeoutError" not in found


def test_a_schedule_leaves_nothing_behind_that_others_stumble_over() -> None:
    """What was never awaited warns when it is collected: in the middle of another test.

    A `finally` that found no loop running would make one of its own, which keeps what it is given
    until the next test makes another.
    """
    asyncio.set_event_loop_policy(asyncio.DefaultEventLoopPolicy())  # one that has no loop yet
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for seed in range(10):
            assert failure(seed) is None
        asyncio.set_event_loop_policy(None)
        gc.collect()
    assert [str(one.message) for one in said] == []


@pytest.mark.parametrize(
    "bug",
    [
        pytest.param(bug, marks=[pytest.mark.fast] if bug.of_the_wheel else [])
        for bug in (*planted.BUGS, *planted_groups.BUGS)
    ],
    ids=lambda bug: bug.plant.__name__,
)
def test_a_planted_bug_is_found(bug: Planted) -> None:
    with bug.plant():
        found = (failure(seed, bug.kind) or "" for seed in bug.tried)
        assert any(bug.symptom in text.partition("\n")[0] for text in found)


def test_a_seed_replays_step_by_step_in_another_process() -> None:
    command = [sys.executable, "-m", "tests.schedules.schedule", "7"]
    hashing = {**os.environ, "PYTHONHASHSEED": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=hashing)  # noqa: S603
    assert done.stdout.splitlines() == trace(7)


def test_a_failure_tells_its_seed_and_its_steps_and_replays_at_once() -> None:
    with planted.leaves_ledger_out():
        seed, found = next((s, text) for s in range(20) if (text := failure(s)) is not None)
        begun = process_time()
        assert failure(seed) == found  # it runs the seed twice
        assert process_time() - begun < 2
    first, *steps = found.splitlines()
    assert first.startswith(f"seed {seed}, step ")
    assert "releases and no account" in first
    assert any("COMMITTING" in step for step in steps)
