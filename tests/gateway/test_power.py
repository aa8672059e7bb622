"""Power fails at any moment: what was acknowledged is neither lost nor released twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from meteragent.gateway.errors import JournalDamaged, JournalLost
from tests.gateway.given import config, messages, oracle
from tests.gateway.world import World

if TYPE_CHECKING:
    from pathlib import Path

STORIES, LONG, PARTS = 30, 1000, 10
LOSSES = 12


def play(directory: Path, seed: int) -> World:
    """Fails unless the world ends as the oracle says."""
    settings, sent = config(directory), messages(seed)
    world = World(settings, sent, seed)
    found, wanted = world.play(LOSSES), oracle(settings, sent)
    assert found.releases == wanted.releases
    assert found.accounts == wanted.accounts
    return world


def test_nothing_is_lost_nor_released_twice(tmp_path: Path) -> None:
    worlds = [play(tmp_path, seed) for seed in range(STORIES)]
    assert sum(world.losses for world in worlds) > STORIES * LOSSES // 3
    sent = sum(len(world.published) for world in worlds)
    seen = sum(len(set(world.published)) for world in worlds)
    assert sent > seen, "nothing was ever sent again, so nothing was tried"


def test_a_disk_that_does_not_sync_is_found_out(tmp_path: Path) -> None:
    """So the stories can tell: the gateway refuses, or what comes out is not what must."""
    settings = config(tmp_path)
    found_out = 0
    for seed in range(10):
        sent = messages(seed)
        world = World(settings, sent, seed, obedient_disk=False)
        try:
            found_out += world.play(LOSSES) != oracle(settings, sent)
        except (JournalDamaged, JournalLost):
            found_out += 1
    assert found_out > 5


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("part", range(PARTS))
def test_nothing_is_lost_nor_released_twice_in_many_stories(tmp_path: Path, part: int) -> None:
    for seed in range(STORIES + part, LONG, PARTS):
        play(tmp_path, seed)


def test_power_that_fails_as_the_last_windows_close_loses_none(tmp_path: Path) -> None:
    play(tmp_path, 903)
