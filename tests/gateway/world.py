"""A gateway's works in a world where power fails: a broker that sends again, a disk that forgets.

The broker keeps what is not acknowledged, and an acknowledgement that was on its way when the power
failed may never arrive. Releases arrive at the broker, and its answers may not arrive here.
"""

from __future__ import annotations

import random
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from meteragent.files.ledger import IN_MEMORY, SqliteLedger
from meteragent.gateway.journal import Journal
from meteragent.gateway.works import Works
from tests.gateway.fragile import Breaker, FragileDisk, PowerLost
from tests.gateway.given import OVER, Result, Sent, without_repeats
from tests.given import KEY, SECOND

if TYPE_CHECKING:
    from collections.abc import Callable
    from sqlite3 import Connection

    from meteragent.config import Config
    from meteragent.watch.events import Occurrence

STEPS = 20_000


class LedgerUnderPower(SqliteLedger):
    """Power may fail before a transaction, within it, and after it; SQLite keeps it whole."""

    def __init__(self, breaker: Breaker) -> None:
        super().__init__(IN_MEMORY)
        self._breaker = breaker

    def commit(self, **said: Any) -> None:  # noqa: ANN401 - what the ledger takes
        self._breaker.step()
        also = said.pop("also", lambda _: None)

        def broken(database: Connection) -> None:
            also(database)
            self._breaker.step()

        super().commit(**said, also=broken)
        self._breaker.step()


class World:
    """Plays one story, and keeps what a reader of the output has seen."""

    def __init__(
        self, config: Config, sent: list[Sent], seed: int, *, obedient_disk: bool = True
    ) -> None:
        self.rng = random.Random(seed)
        self.config, self.sent = config, sent
        self.breaker = Breaker()
        self.disk = FragileDisk(self.breaker, obeys=obedient_disk)
        self.ledger = LedgerUnderPower(self.breaker)
        self.published: list[tuple[str, bytes]] = []
        self.losses = 0
        self.events: list[Occurrence] = []
        self._answered: set[int] = set()
        """Of the messages, by their numbers: the broker has let them go."""
        self._now = 0
        self._salts = 0

    def play(self, losses: int) -> Result:
        """Until all was sent, taken in and released, with so many losses of power."""
        for left in range(losses, -1, -1):
            self.breaker.left = self.rng.randrange(1, 100) if left else None
            with suppress(PowerLost):
                self._live()
                break
            self.losses += 1
            self.disk.lose(self.rng)
        self.breaker.left = None
        return Result(without_repeats(self.published), self.ledger.accounts())

    def works(self) -> Works:
        journal = Journal(self.disk, "journal", limit=80_000, salt=self._salt)
        return Works(self.config, KEY, journal, self.ledger, self.events.append, lambda: 0.0)

    def _live(self) -> None:
        """From one start to the loss of power, or to the end of the story."""
        works = self.works()
        for _ in works.restore():
            self.breaker.step()
        self._heard: list[int] = []
        """What was taken in, and acknowledged as far as we know."""
        waiting = [n for n in range(len(self.sent)) if n not in self._answered]
        deeds: list[Callable[[Works, list[int]], None]] = [
            self._take, self._take, self._pass_time, self._commit, self._send
        ]  # fmt: skip
        try:
            for _ in range(STEPS):
                if not waiting and not works.outbox.waiting and not works.is_due:
                    if self._now == OVER and not works.pipeline.due(OVER):
                        return  # and not before: power may have failed as the last ones closed
                    self._now = OVER
                    works.pass_time(self._now)
                self.rng.choice(deeds)(works, waiting)
        except PowerLost:
            arrived = self.rng.randint(0, len(self._heard))
            self._answered.update(self._heard[:arrived])
            raise
        raise AssertionError("it never ends")

    def _take(self, works: Works, waiting: list[int]) -> None:
        some = waiting[: self.rng.randint(1, 5)]
        if not some:
            return
        self._now = max(self._now, *(self.sent[n].at for n in some))
        records = [works.record(self.sent[n].topic, self.sent[n].message, self._now) for n in some]
        first = works.write(records)
        self._heard += some
        del waiting[: len(some)]
        works.feed(first, records)

    def _pass_time(self, works: Works, waiting: list[int]) -> None:
        """Up to when the next message is sent: all before it was taken in."""
        until = self.sent[waiting[0]].at if waiting else self._now
        if until > self._now:
            self._now = self.rng.randrange(self._now, until)
        works.pass_time(self._now)

    def _commit(self, works: Works, _: list[int]) -> None:
        if works.is_due:
            works.commit()

    def _send(self, works: Works, _: list[int]) -> None:
        batch = works.outbox.first(3)
        for one in batch:
            self.published.append((one.topic, one.message))
            self.breaker.step()
        works.outbox.sent(batch)

    def _salt(self, size: int) -> bytes:
        self._salts += 1
        return (self._salts * SECOND).to_bytes(size, "little")
