"""The agent's own limits, as small as the worlds of schedules are."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from meteragent.kafka import group, memberships, portions, unpack
from meteragent.stream import trail
from tests.given import SECOND


@contextmanager
def limits_as_small_as_the_worlds(seed: int) -> Iterator[None]:
    """Or back-pressure and portions would never come, and no silent meter's panes be carried.

    In every second seed whatever is polled is decoded by another thread, where there is the wheel.
    """
    ahead = unpack.LEAST_AHEAD if seed % 2 else 0
    with (
        patch.object(unpack, "LEAST_AHEAD", ahead),
        patch.object(memberships, "LOOK_SECONDS", 0.5),
        patch.multiple(group, MOST_WAITING=6, LEAST_WAITING=6),
        patch.object(portions, "MOST_AT_ONCE", 2),
        patch.multiple(trail, LONGER=-15 * SECOND, MILE=1, AT_LEAST=9),
    ):
        yield
