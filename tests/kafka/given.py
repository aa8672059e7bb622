"""What several tests of Kafka's rooms are given."""

from __future__ import annotations

TABLE = {
    "name": "all",
    "window": "1m",
    "interval": "10s",
    "maximum": "1kW",
    "epsilon": "1",
    "budget": "9",
}
"""The settings of a policy, where it does not matter what they are."""
