"""For how long releases can be read, from how topics are set."""

from __future__ import annotations

import pytest

from meteragent.config.kafka import Kafka
from meteragent.kafka.fitness import KEPT, Topic, lasting, of_lifetimes, short_lived

KAFKA = Kafka(input="meters")
[OUTPUT] = KAFKA.outputs
DAY = 86_400_000


def topics(readings: dict[str, str], releases: dict[str, str]) -> dict[str, Topic]:
    return {"meters": Topic(3, readings), OUTPUT: Topic(3, releases)}


@pytest.mark.parametrize(
    ("releases", "kept"),
    [
        ({}, {}),
        ({KEPT: "-1"}, {}),
        ({KEPT: "5"}, {OUTPUT: 5}),
        ({KEPT: "5", "cleanup.policy": "delete"}, {OUTPUT: 5}),
        ({KEPT: "5", "cleanup.policy": "compact,delete"}, {OUTPUT: 5}),
        ({KEPT: "5", "cleanup.policy": "compact"}, {}),
    ],
)
def test_releases_last_as_long_as_their_topic_keeps_them(
    releases: dict[str, str], kept: dict[str, int]
) -> None:
    found = topics({}, releases)
    assert lasting(KAFKA, found) == kept
    assert len([*of_lifetimes(KAFKA, found)]) == len(kept)


@pytest.mark.parametrize(
    ("readings", "releases", "short"),
    [
        (None, None, False),
        (DAY, None, False),
        (DAY, DAY, False),
        (DAY, DAY + 1, False),
        (DAY, DAY - 1, True),
        (None, DAY, True),
    ],
)
def test_releases_that_are_gone_before_their_readings_are_said_to_be_short_lived(
    readings: int | None, releases: int | None, *, short: bool
) -> None:
    kept = [{} if one is None else {KEPT: str(one)} for one in (readings, releases)]
    said = [*short_lived(KAFKA, topics(*kept))]
    assert bool(said) == short
    assert all(topic == OUTPUT for topic, _ in said)
    assert all("readings for ever" in one for _, one in said if readings is None)


@pytest.mark.parametrize(
    ("readings", "told", "short"),
    [
        (DAY, None, False),
        (DAY, DAY + 1, False),
        (DAY, DAY, False),
        (DAY, DAY - 1, True),
        (None, DAY, True),
        (None, None, False),
    ],
)
def test_what_is_told_of_homes_is_kept_for_as_long_as_groups_may_stand_still(
    readings: int | None, told: int | None, *, short: bool
) -> None:
    kafka = KAFKA.of_homes()
    kept = [{} if one is None else {KEPT: str(one)} for one in (readings, told)]
    found = {"meters": Topic(3, kept[0]), kafka.partials: Topic(3, kept[1])}
    said = [*short_lived(kafka, found)]
    assert [topic for topic, _ in said] == [kafka.partials] * short
    assert all("groups that stand still for longer lose their windows" in one for _, one in said)
