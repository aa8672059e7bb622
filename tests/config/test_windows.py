"""A window is a duration, or a day, a week or a month of a time zone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator

from meteragent.formats.schema import policy_schema
from meteragent.privacy.calendar import UNITS, CalendarWindows
from meteragent.privacy.published import policy_of
from tests.config.test_config import one_policy, read, refusals
from tests.given import DAY, HOUR

if TYPE_CHECKING:
    from pathlib import Path

    from meteragent.privacy.policy import Policy

PARIS = {"timezone": '"Europe/Paris"', "interval": '"15m"', "horizon": '"40d"'}


def made(directory: Path, **settings: str) -> Policy:
    [policy] = read(directory, one_policy(**PARIS | settings)).policies
    return policy


@pytest.mark.parametrize("unit", UNITS)
def test_a_window_may_be_a_day_a_week_or_a_month(tmp_path: Path, unit: str) -> None:
    policy = made(tmp_path, window=f'"{unit}"', offset='"6h"')
    windows = policy.windows
    assert isinstance(windows, CalendarWindows)
    assert (windows.unit, windows.zone.name, windows.offset) == (unit, "Europe/Paris", 6 * HOUR)
    assert policy.size == policy.hop == windows.lasting(1)
    assert windows.start(windows.newest(1_720_000_000_000)) % DAY == 4 * HOUR


def test_a_window_of_one_length_may_begin_later(tmp_path: Path) -> None:
    plain, later = (
        read(tmp_path, one_policy(window='"1d"', interval='"15m"', **more)).policies[0]
        for more in ({}, {"offset": '"6h"'})
    )
    assert later.windows.start(later.windows.newest(10 * DAY + 5 * HOUR)) == 9 * DAY + 6 * HOUR
    assert later.document()["offset_ms"] == 6 * HOUR
    assert "offset_ms" not in plain.document()
    assert later.digest != plain.digest


@pytest.mark.parametrize("settings", [{"window": f'"{unit}"'} for unit in UNITS])
@pytest.mark.parametrize("offset", ["0s", "6h"])
def test_whoever_has_the_document_knows_the_bounds(
    tmp_path: Path, settings: dict[str, str], offset: str
) -> None:
    """Without any data of zones: they stand in it."""
    policy = made(tmp_path, **settings, offset=f'"{offset}"')
    document = json.loads(json.dumps(policy.document()))
    Draft202012Validator(policy_schema()).validate(document)
    again = policy_of(document)
    assert again == policy
    assert (again.id, again.digest) == (policy.id, policy.digest)
    assert len(json.dumps(document)) < 10_000


@pytest.mark.parametrize("left_out", ["window", "timezone", "utc_offsets_ms"])
def test_a_document_that_does_not_say_which_windows_does_not_obey(
    tmp_path: Path, left_out: str
) -> None:
    document = made(tmp_path, window='"day"').document()
    del document[left_out]
    assert not Draft202012Validator(policy_schema()).is_valid(document)
    both = made(tmp_path, window='"day"').document() | {"size_ms": DAY, "hop_ms": DAY}
    assert not Draft202012Validator(policy_schema()).is_valid(both)


def test_other_bounds_are_another_policy(tmp_path: Path) -> None:
    """Also where data of the same zone have changed: it would be a second draw."""
    policy = made(tmp_path, window='"month"')
    document = policy.document()
    document["utc_offsets_ms"] = document["utc_offsets_ms"][:-1]
    changed = policy_of(document)
    london = made(tmp_path, window='"month"', timezone='"Europe/London"')
    assert len({policy.digest, changed.digest, london.digest}) == 3
    assert len({policy.id, changed.id, london.id}) == 3


@pytest.mark.parametrize(
    ("settings", "refusal"),
    [
        ({"window": '"day"', "timezone": ""}, "timezone: is missing; write for"),
        (
            {"window": '"day"', "timezone": '"Paris"'},
            "timezone: is not a known time zone; write for",
        ),
        ({"window": '"1d"'}, "timezone: is of days, weeks and months; leave it out"),
        ({"window": '"day"', "hop": '"6h"'}, "hop: is not for a day, behind which comes"),
        ({"window": '"Day"'}, "window: is not a duration; write for"),
        ({"window": '"day"', "interval": '"7m"'}, "interval: does not divide every day"),
        ({"window": '"day"', "offset": '"1d"'}, "offset: is no less than a day; leave it out"),
        ({"window": '"day"', "offset": '"15s"'}, "offset: leaves bounds that are no whole"),
        ({"window": '"day"', "horizon": '"1d"'}, "horizon: is shorter than a window; write at"),
        ({"window": '"month"', "queries": '["p95"]'}, "queries: asks p95 of 2980 readings"),
        ({"window": '"day"', "queries": '["reading"]'}, "queries: asks for each reading of"),
        (
            {"window": '"day"', "timezone": '"Pacific/Apia"'},
            "timezone: leaves out a whole day; write window",
        ),
        (
            {"window": '"1d"', "timezone": "", "offset": '"1d"'},
            "offset: must be whole intervals, and less than a hop; leave it out",
        ),
        (
            {"window": '"1d"', "timezone": "", "interval": '"1m"', "offset": '"1m"'},
            "offset: leaves bounds that are no whole quarters of an hour; write",
        ),
    ],
)
def test_windows_that_make_no_sense_are_refused(
    tmp_path: Path, settings: dict[str, str], refusal: str
) -> None:
    [found] = refusals(tmp_path, one_policy(**PARIS | settings))
    assert found.startswith(f"policy[0].{refusal}")


def test_a_day_of_a_zone_whose_clocks_never_change_may_be_asked_reading_by_reading(
    tmp_path: Path,
) -> None:
    utc = made(tmp_path, window='"day"', timezone='"UTC"', queries='["reading"]', budget='"96"')
    assert utc.slots == utc.fewest_slots == 96


def test_the_coverage_of_the_shortest_window_is_what_any_needs_at_least(tmp_path: Path) -> None:
    assert made(tmp_path, window='"day"', min_coverage='"0.5"').needed == 46
    assert made(tmp_path, window='"month"', min_coverage='"1"').needed == 28 * 96
