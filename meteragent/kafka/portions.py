"""How much goes into one transaction: less after one that brokers gave up as too long."""

from typing import ClassVar

from meteragent.errors import MeterAgentError

MOST_AT_ONCE = 50_000
"""Releases in a transaction, and a stage's more: what they take of memory is bounded."""
EASILY = 8
"""A transaction that takes no more than this part of its time may hold twice as much."""


class TransactionTooLong(MeterAgentError):
    """What was sent at once took longer than brokers let a transaction take."""

    retriable: ClassVar[bool] = True

    def __init__(self, partition: int, records: int, portion: int) -> None:
        super().__init__(
            f"kafka.transaction_timeout: {records} records of partition {partition} were not "
            f"committed in time; next time they go in portions of about {portion}. If this comes "
            "again, run `meteragent check`: is every topic there? If so, one moment closes more "
            "windows than that: raise it"
        )
        self.partition = partition
        self.records = records
        self.portion = portion


class Portion:
    """That of one partition."""

    def __init__(self) -> None:
        self.size = MOST_AT_ONCE

    def failed(self, partition: int, records: int) -> TransactionTooLong:
        """So many were not committed in time: next time it is half of that. What is to be said."""
        self.size = max(1, min(self.size, records) // 2)
        return TransactionTooLong(partition, records, self.size)

    def ended(self, seconds: float, limit: float) -> None:
        """One was committed: grow again, where there is time for it."""
        if seconds * EASILY < limit:
            self.size = min(2 * self.size, MOST_AT_ONCE)
