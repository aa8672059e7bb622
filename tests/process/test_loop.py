"""Work goes on unless something ends it, and never outlives it."""

import asyncio
import sys

import pytest

from meteragent.process.loop import SWITCH_SECONDS, run_until_done, unless


def test_what_comes_of_work_is_answered() -> None:
    async def scenario() -> int | None:
        return await unless(asyncio.Event(), asyncio.sleep(0, result=7))

    assert asyncio.run(scenario()) == 7


def test_what_fails_is_raised() -> None:
    async def fails() -> None:
        raise ZeroDivisionError

    async def scenario() -> None:
        await unless(asyncio.Event(), fails())

    with pytest.raises(ZeroDivisionError):
        asyncio.run(scenario())


def test_work_that_is_ended_has_cleaned_up_when_nothing_is_answered() -> None:
    cleaned = []

    async def works() -> int:
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append(True)
        return 1

    async def scenario() -> int | None:
        ended = asyncio.Event()
        asyncio.get_running_loop().call_soon(ended.set)
        return await unless(ended, works())

    assert asyncio.run(scenario()) is None
    assert cleaned


def test_who_is_cancelled_takes_the_work_along() -> None:
    async def scenario() -> None:
        work: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        async def works() -> int:
            return await work

        outer = asyncio.create_task(unless(asyncio.Event(), works()))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        outer.cancel()
        with pytest.raises(asyncio.CancelledError):
            await outer
        await asyncio.sleep(0)
        assert work.cancelled()

    asyncio.run(scenario())


def test_a_thread_that_is_asked_for_something_begins_before_it_is_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chosen: list[float] = []
    monkeypatch.setattr(sys, "setswitchinterval", chosen.append)
    run_until_done(asyncio.sleep(0))
    assert chosen == [SWITCH_SECONDS]
