"""How much goes into one transaction: less after one that brokers gave up as too long."""

from meteragent.errors import TransactionTooLong

MOST_AT_ONCE = 50_000
"""Releases in a transaction, and a stage's more: what they take of memory is bounded."""
EASILY = 8
"""A transaction that takes no more than this part of its time may hold twice as much."""


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
