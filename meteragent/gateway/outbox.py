"""Releases in the ledger that the broker does not have yet.

They enter in the transaction that pays for them, and leave once the broker has acknowledged them
and all before them: so whatever is sent again is sent in order, and what a topic retains is its
newest release.
"""

from collections.abc import Iterable
from sqlite3 import Connection
from typing import NamedTuple

from meteragent.files.ledger import SqliteLedger

_TABLE = """CREATE TABLE IF NOT EXISTS outbox (
    number INTEGER PRIMARY KEY, topic TEXT NOT NULL, message BLOB NOT NULL
)"""


class Unsent(NamedTuple):
    """A message that the broker may not have."""

    number: int
    topic: str
    message: bytes


class Outgoing:
    """A table of the ledger."""

    def __init__(self, ledger: SqliteLedger) -> None:
        self._ledger = ledger
        ledger.run(lambda database: database.execute(_TABLE))
        self.waiting = ledger.run(_count)
        """How many there are."""

    def add(self, database: Connection, messages: list[tuple[str, bytes]]) -> None:
        """Put these in, within a transaction of the ledger."""
        database.executemany("INSERT INTO outbox (topic, message) VALUES (?, ?)", messages)
        self.waiting += len(messages)

    def first(self, most: int) -> list[Unsent]:
        """The oldest ones."""
        asked = "SELECT number, topic, message FROM outbox ORDER BY number LIMIT ?"
        return self._ledger.run(
            lambda database: [*map(Unsent._make, database.execute(asked, (most,)))]
        )

    def sent(self, messages: Iterable[Unsent]) -> None:
        """The broker has these, and all before them."""
        numbers = [(message.number,) for message in messages]
        delete = "DELETE FROM outbox WHERE number = ?"
        self._ledger.run(lambda database: database.executemany(delete, numbers))
        self.waiting -= len(numbers)


def _count(database: Connection) -> int:
    [count] = database.execute("SELECT count(*) FROM outbox").fetchone()
    return int(count)
