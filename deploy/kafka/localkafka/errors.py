"""What this command reports instead of a traceback."""

from __future__ import annotations


class BrokerError(Exception):
    """Something the caller can act on; the message says how."""

    exit_code = 1


class UnavailableError(BrokerError):
    """This machine has no way to run Kafka; tests may skip on it."""

    exit_code = 4
