"""Batches that are decoded by another thread, while those that came before them are worked on.

The wheel decodes without Python's lock, so both get on at once, and so does the network. Polls are
taken in the order in which they came, each after the next one is known: what is begun of that is
done while this one is fed. What is not worth it, or is left to Python, is fed at once.
"""

import asyncio
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import NamedTuple

from aiokafka import TopicPartition

from meteragent.kafka.intake import Intake
from meteragent.kafka.walk import Fetched


class Polled(NamedTuple):
    """What has come of a partition."""

    source: TopicPartition
    fetched: Fetched
    sought: object
    """The last seek before it was polled."""
    intake: Intake | None
    """Who is to take it, if anybody is there now."""


class Ahead:
    """What was polled, and is not fed yet."""

    def __init__(self) -> None:
        """Nothing so far."""
        self._thread = ThreadPoolExecutor(1, "decode")
        self._begun: list[Polled] = []
        self._work: list[asyncio.Future[object]] = []

    def __bool__(self) -> bool:
        """Whether anything waits."""
        return bool(self._begun)

    def holds(self, source: TopicPartition) -> bool:
        """Whether anything of this partition waits."""
        return any(polled.source == source for polled in self._begun)

    async def turn(self, found: Iterable[Polled]) -> list[Polled]:
        """What is to be fed now, in this order, if this was polled last."""
        if self._work:
            await asyncio.wait(self._work)
        now, self._begun, self._work = self._begun, [], []
        for polled in found:
            work = polled.intake.ahead(polled.fetched) if polled.intake is not None else None
            if work is None:
                now.append(polled)
                continue
            done = asyncio.get_running_loop().run_in_executor(self._thread, work)
            done.add_done_callback(_noted)
            self._work.append(done)
            fetched = replace(polled.fetched, found=done.result)
            self._begun.append(polled._replace(fetched=fetched))
        return now

    def drop(self, source: TopicPartition) -> None:
        """Let go of what waits of a partition that is read again from where it was not polled.

        Were it handed over, it would be refused, with another seek; and so would what is polled
        before that, for ever.
        """
        self._begun = [polled for polled in self._begun if polled.source != source]

    def close(self) -> None:
        """Nobody takes what waits."""
        self._thread.shutdown(wait=False, cancel_futures=True)


def _noted(done: asyncio.Future[object]) -> None:
    """Whoever takes it is told why it failed. What nobody takes is read again, and told of then."""
    if not done.cancelled():
        done.exception()
