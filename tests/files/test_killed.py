"""Killed at any moment and run again, a job leaves what it leaves undisturbed."""

from __future__ import annotations

import random
import time
from multiprocessing import get_context
from typing import TYPE_CHECKING

import pytest

from meteragent.cli import main
from meteragent.commands.exit_codes import Exit
from meteragent.files import sink
from meteragent.files.ledger import SqliteLedger
from tests.files.given import (
    CONFIGURATION,
    contents,
    in_small_blocks,
    lively,
    sanitize_in_small_blocks,
    write_key,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.process import BaseProcess
    from pathlib import Path

    from meteragent.files.job import Job

BLOCK = 30
ARGUMENTS = ["in.jsonl", "-o", "out.jsonl", "--rejects", "bad.jsonl", "--ledger", "spend.db"]
FORKS = get_context("forkserver")
FORKS.set_forkserver_preload(["pytest", "meteragent.commands.sanitize"])


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.toml").write_text(CONFIGURATION)
    write_key(tmp_path)
    return tmp_path


def result(directory: Path) -> tuple[bytes, bytes, list[str]]:
    released = (directory / "out.jsonl").read_bytes()
    return released, (directory / "bad.jsonl").read_bytes(), contents(directory / "spend.db")


def start_over(directory: Path) -> None:
    for name in ("out.jsonl", "bad.jsonl", "spend.db", "spend.db-wal", "spend.db-shm"):
        (directory / name).unlink(missing_ok=True)


def started() -> BaseProcess:
    process = FORKS.Process(
        target=sanitize_in_small_blocks, args=([*ARGUMENTS, "-c", "agent.toml"], BLOCK)
    )
    process.start()
    return process


def finished(process: BaseProcess) -> int | None:
    process.join(timeout=60)
    return process.exitcode


def undisturbed(directory: Path) -> tuple[bytes, bytes, list[str]]:
    assert finished(started()) == Exit.OK
    left = result(directory)
    assert left[0].count(b"\n") > 20
    assert left[1].count(b"\n") > 5
    start_over(directory)
    return left


@pytest.mark.parametrize(
    "moments", [pytest.param(50, id="some"), pytest.param(300, id="many", marks=pytest.mark.slow)]
)
def test_killed_at_any_moment_it_goes_on_as_if_nothing_had_been(
    directory: Path, moments: int
) -> None:
    (directory / "in.jsonl").write_bytes(lively(600))
    expected = undisturbed(directory)
    begun = time.monotonic()
    undisturbed(directory)
    lasts = time.monotonic() - begun
    draw = random.Random(moments)
    interrupted = 0
    for _ in range(moments):
        process = started()
        process.join(timeout=draw.uniform(0, lasts))
        process.kill()
        interrupted += finished(process) != Exit.OK
        assert finished(started()) == Exit.OK
        assert result(directory) == expected
        start_over(directory)
    assert interrupted >= moments // 3


class Killed(BaseException):
    """The end, as far as the program can tell."""


def killed_at(step: int, when: str, function: Callable[..., None]) -> Callable[..., None]:
    """The function, until its `step`-th call."""
    calls = iter(range(step))

    def call(*arguments: object, **options: object) -> None:
        last = next(calls, None) is None
        if last and when == "before":
            raise Killed
        function(*arguments, **options)
        if last:
            raise Killed

    return call


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    ("place", "name", "steps"),
    [(SqliteLedger, "commit", 7), (sink.File, "write", 6), (sink.File, "cut", 2)],
)
def test_killed_around_each_step_it_goes_on(
    directory: Path, monkeypatch: pytest.MonkeyPatch, place: type, name: str, steps: int, when: str
) -> None:
    (directory / "in.jsonl").write_bytes(lively(150))
    expected = undisturbed(directory)
    in_small_blocks(monkeypatch.setattr, BLOCK)
    monkeypatch.setattr("meteragent.files.job.Job._commit_if_due", at_once)
    arguments = ["sanitize", *ARGUMENTS, "-c", "agent.toml"]
    original = getattr(place, name)
    kills = 0
    for step in range(steps):
        with monkeypatch.context() as patch:
            patch.setattr(place, name, killed_at(step, when, original))
            patch.setattr("meteragent.cli.report", raising)
            try:
                main(arguments)
            except Killed:
                kills += 1
        assert main(arguments) == Exit.OK
        assert result(directory) == expected
        start_over(directory)
    assert kills == steps


def at_once(job: Job) -> None:
    if job._pipeline is not None:
        job._commit(job._pipeline)


def raising(error: BaseException) -> Exit:
    raise error


def test_killed_again_and_again_it_comes_to_an_end(directory: Path) -> None:
    (directory / "in.jsonl").write_bytes(lively(600))
    expected = undisturbed(directory)
    patience = 0.05
    process = started()
    process.join(timeout=patience)
    while process.exitcode is None:
        process.kill()
        process.join()
        patience *= 1.3
        process = started()
        process.join(timeout=patience)
    assert process.exitcode == Exit.OK
    assert result(directory) == expected
