"""Settings near those of a policy: what a page offers, any file could say."""

from __future__ import annotations

import tomllib
from decimal import Decimal

import pytest

from meteragent.config.nearby import Nearby, as_toml
from meteragent.config.policy import PolicySettings
from meteragent.config.presets import presets

ROWS = {
    "name": "rows",
    "match": "home-",
    "window": "0.5h",
    "interval": "1m",
    "minimum": "-1kW",
    "maximum": "10 kW",
    "epsilon": Decimal("0.3"),
    "radius": 75,
    "queries": ["median", {"query": "p95", "epsilon": "0.1"}],
    "budget": "20",
}


def near(**raw: object) -> Nearby:
    return Nearby(raw, PolicySettings.model_validate(dict(raw)))


@pytest.mark.parametrize(
    "raw",
    [*({"name": name, "preset": name} for name in presets()), ROWS],
    ids=lambda raw: raw["name"],
)
def test_every_place_is_a_file_that_means_what_the_sliders_say(raw: dict[str, object]) -> None:
    nearby, good = near(**raw), 0
    for place in nearby.places():
        document, settings = nearby.settings(place)
        if isinstance(settings, str):
            assert settings
            continue
        good += 1
        [read] = tomllib.loads(as_toml(document))["policy"]
        meant = PolicySettings.model_validate(read)
        assert meant.policy.id == settings.policy.id
        _, radius, epsilon, queries = place
        assert meant.radius == nearby.radii[radius]
        assert meant.epsilon == nearby.epsilons[epsilon]
        assert tuple(asked.query for asked in meant.queries) == nearby.queries[queries]
        kept = ("name", "match", "interval", "minimum", "maximum", "presence", "horizon", "grace")
        assert all(getattr(meant, name) == getattr(nearby.own, name) for name in kept)
        assert meant.policy.terms.dearest(meant.policy.terms.per_horizon) <= meant.policy.budget
        if place == nearby.start:
            assert meant.window == nearby.own.window
    assert good > nearby.many * 0.8
    assert nearby.many == len([*nearby.places()])


def test_the_page_begins_with_the_very_settings_where_they_pay_for_every_window() -> None:
    for name in ("tv-content", "appliances", "presence"):
        nearby = near(name=name, preset=name)
        document, settings = nearby.settings(nearby.start)
        assert isinstance(settings, PolicySettings)
        assert settings.policy.id == nearby.own.policy.id
        assert document == {"name": name, "preset": name}


def test_a_calendars_window_keeps_its_zone_and_others_have_none() -> None:
    nearby = near(name="bill", preset="bill", timezone="Europe/Paris", horizon="32d")
    assert nearby.windows[-1] == "month"
    document, _ = nearby.settings(nearby.start)
    assert document["timezone"] == "Europe/Paris"
    other, settings = nearby.settings((1, 3, 1, 0))
    assert "timezone" not in other
    assert isinstance(settings, PolicySettings)
    assert settings.policy.size == 3_600_000
    assert settings.policy.domain.finer == 1


def test_queries_of_hours_and_parts_are_left_out() -> None:
    own = ["avg[07:00-23:00]", "max(15m)"]
    nearby = near(**{**ROWS, "window": "1h", "queries": own})
    assert nearby.queries == (("avg",), ("avg", "max"))
    assert nearby.start[3] == 0
    assert near(**ROWS).queries[-1] == ("median", "p95")


def test_what_makes_no_sense_is_said() -> None:
    nearby = near(**{**ROWS, "interval": "15m"} | {"window": "45m"})
    _, settings = nearby.settings((0, 0, 0, 0))
    assert isinstance(settings, PolicySettings)
    narrow = near(**{**ROWS, "interval": "1h", "window": "1h"})
    _, said = narrow.settings((0, 0, 0, 0))
    assert isinstance(said, str)
    assert "window" in said
