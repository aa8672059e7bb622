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

from tests.simulation import planted
from tests.simulation.simulation import failure, trace

if TYPE_CHECKING:
    from tests.simulation.worker import Design

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
    sweep(range(2000), punctual=True)


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
        (planted.CommitsBeforeDelivery, 200, "ledger|account|lost"),
        (planted.CommitsAtOnce, 50, "ledger|account|lost"),
        (planted.RestoresBeforeFencing, 300, "ledger|twice|lost|fell back|budget"),
        (planted.PassesOpenWindows, 50, "second draw|lost"),
        (planted.DrawsAnew, 50, "second draw"),
        (planted.NeverForgets, 200, "twice|lost"),
        (planted.RestoresAborted, 100, "ledger"),
        (planted.LeavesLedgerOut, 20, "no account"),
        (planted.FeedsStaleRecords, 3000, "lost|second draw"),
    ],
)
def test_a_planted_bug_is_found(bug: type[Design], seeds: int, symptom: str) -> None:
    found = next(filter(None, (failure(seed, bug) for seed in range(seeds))), "")
    assert any(word in found.partition("\n")[0] for word in symptom.split("|")), found


def test_a_seed_replays_step_by_step_in_another_process() -> None:
    command = [sys.executable, "-m", "tests.simulation.simulation", "7"]
    hashing = {**os.environ, "PYTHONHASHSEED": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=hashing)  # noqa: S603
    assert done.stdout.splitlines() == trace(7)


def test_a_failure_tells_its_seed_and_its_steps() -> None:
    found = next(filter(None, (failure(seed, planted.LeavesLedgerOut) for seed in range(20))))
    assert found.startswith("seed ")
    assert "but not when replayed" not in found
    assert "[send]" in found
