"""Whatever comes first, fails, hangs or goes on as a zombie: every window once, none lost."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import TYPE_CHECKING

import pytest

from tests.schedules import planted
from tests.schedules.simulation import failure, trace

if TYPE_CHECKING:
    from tests.schedules.worker import Design

CHUNK = 50


def first_failure(seeds: range, *, punctual: bool) -> str | None:
    return next(filter(None, (failure(seed, punctual=punctual) for seed in seeds)), None)


def sweep(seeds: range, *, punctual: bool) -> None:
    """Run schedules on every processor; fail with the first seed that fails, and its steps."""
    chunks = [seeds[at : at + CHUNK] for at in range(0, len(seeds), CHUNK)]
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        for found in pool.map(partial(first_failure, punctual=punctual), chunks):
            if found is not None:
                pool.shutdown(cancel_futures=True)
                pytest.fail(found, pytrace=False)


def test_no_schedule_releases_a_window_twice_or_loses_one() -> None:
    sweep(range(1500), punctual=True)


def test_no_schedule_with_late_readings_draws_twice() -> None:
    sweep(range(500), punctual=False)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_none_of_many_schedules_does(block: int) -> None:
    sweep(range(10_000 + block * 4000, 10_000 + (block + 1) * 4000), punctual=True)
    sweep(range(10_000 + block * 1000, 10_000 + (block + 1) * 1000), punctual=False)


@pytest.mark.parametrize(
    ("bug", "seeds", "symptom"),
    [
        (planted.CommitsBeforeDelivery, 100, "Broken"),
        (planted.CommitsAtOnce, 50, "Broken"),
        (planted.RestoresBeforeFencing, 200, "Broken"),
        (planted.PassesOpenWindows, 20, "lost"),
        (planted.DrawsAnew, 200, "a second draw"),
        (planted.NeverForgets, 400, "Broken"),
        (planted.RestoresAborted, 50, "the ledger of"),
        (planted.LeavesLedgerOut, 20, "releases and no account"),
        (planted.InheritsRuins, 400, "Broken"),
        (planted.FeedsStaleRecords, 1000, "Broken"),
    ],
)
def test_a_planted_bug_is_found(bug: type[Design], seeds: int, symptom: str) -> None:
    assert is_found(bug, range(seeds), symptom, punctual=True)


def test_a_tick_that_is_not_committed_first_is_found() -> None:
    assert is_found(planted.TicksAtOnce, range(400), "a second draw", punctual=False)


def is_found(bug: type[Design], seeds: range, symptom: str, *, punctual: bool) -> bool:
    found = (failure(seed, bug, punctual=punctual) or "" for seed in seeds)
    return any(symptom in text.partition("\n")[0] for text in found)


def test_a_seed_replays_step_by_step_in_another_process() -> None:
    command = [sys.executable, "-m", "tests.schedules.simulation", "7"]
    hashing = {**os.environ, "PYTHONHASHSEED": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=hashing)  # noqa: S603
    assert done.stdout.splitlines() == trace(7)


def test_a_failure_tells_its_seed_and_its_steps() -> None:
    found = next(filter(None, (failure(seed, planted.LeavesLedgerOut) for seed in range(20))))
    assert found.startswith("seed ")
    assert "but not when replayed" not in found
    assert "[send]" in found
