"""Presets are data: they hold what a policy can say, and whatever a policy says itself wins."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import ValidationError

from meteragent.cli import main
from meteragent.commands.arguments import CHOICES
from meteragent.commands.exit_codes import Exit
from meteragent.config import load
from meteragent.config.choice import choice
from meteragent.config.group import GroupSettings
from meteragent.config.policy import PolicySettings
from meteragent.config.presets import Evidence, Preset, presets
from meteragent.config.reference import reference
from meteragent.errors import ConfigRefused

FILE = Path(__file__).parents[2] / "meteragent" / "config" / "presets.toml"
NAMES = list(presets())
OTHERWISE = {
    "window": "30m",
    "interval": "30s",
    "hop": "5m",
    "grace": "7s",
    "idle": "9m",
    "delay": "9m",
    "minimum": "-10W",
    "maximum": "9kW",
    "step": "20W",
    "resolution": "1W",
    "queries": ["max"],
    "epsilon": "0.25",
    "radius": "30W",
    "budget": "300",
    "horizon": "60d",
    "min_coverage": "0",
    "presence": "other",
    "readings": "exact",
    "on_exhausted": "partial",
    "noise": "joint",
    "offset": "15m",
}


def settings(**given: Any) -> PolicySettings:  # noqa: ANN401 - as in a file
    return PolicySettings.model_validate({"name": "homes", **given})


def otherwise(preset: str, name: str) -> object:
    """Some other value than the preset's."""
    if name != "presence":
        return OTHERWISE[name]
    return "private" if settings(preset=preset).presence == "public" else "public"


@pytest.mark.parametrize("name", NAMES)
def test_a_preset_is_all_that_a_policy_needs(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["key", "create", str(tmp_path / "noise.key")]) == Exit.OK
    written = f'[agent]\nkey_file = "noise.key"\n[[policy]]\nname = "homes"\npreset = "{name}"\n'
    (tmp_path / "agent.toml").write_text(written)
    assert main(["check", "--offline", "-c", str(tmp_path / "agent.toml")]) == Exit.OK
    assert "with policies homes\n" in capsys.readouterr().out


@pytest.mark.parametrize("name", NAMES)
def test_a_preset_covers_every_window_of_its_horizon(name: str) -> None:
    policy = settings(preset=name).policy
    assert policy.budget // sum(policy.terms.costs) >= policy.terms.per_horizon


@pytest.mark.parametrize(
    ("name", "key"),
    [
        (name, key)
        for name in NAMES
        for key in sorted(OTHERWISE)
        if (name, key)
        not in {
            ("presence", "readings"),  # is about what that preset hides
            ("bill", "hop"),  # is not for months
        }
    ],
)
def test_what_a_policy_sets_itself_wins(name: str, key: str) -> None:
    value = otherwise(name, key)
    changed, own = settings(preset=name, **{key: value}), settings(preset=name)
    own_policy = dict(presets()[name].policy)
    zone = own_policy.pop("timezone", None) if key == "window" else None
    alone = settings(**{**own_policy, key: value})
    assert getattr(changed, key) == getattr(alone, key) != getattr(own, key)
    assert changed.policy == alone.policy
    chosen = choice(changed)
    assert chosen is not None
    assert chosen.changed == ((key, "timezone") if zone else (key,))


def test_every_setting_can_be_set_otherwise() -> None:
    together = {"fill", "fill_limit", "timezone"}
    apart = {"name", "match", "quantity", "preset", "share", "output", "tier", "pseudonyms"}
    assert {*OTHERWISE, *together, *apart} == set(PolicySettings.model_fields)


@pytest.mark.parametrize("name", NAMES)
def test_slots_are_filled_if_both_settings_say_so(name: str) -> None:
    filling = settings(preset=name, fill="last", fill_limit="15m")
    assert filling.policy.fill_limit == 900_000
    assert filling.policy == replace(settings(preset=name).policy, fill_limit=900_000)


def test_the_names_are_those_of_the_file() -> None:
    named = get_args(get_args(PolicySettings.model_fields["preset"].annotation)[0])
    groups = get_args(get_args(GroupSettings.model_fields["preset"].annotation)[0])
    assert [*named, *groups] == list(tomllib.loads(FILE.read_text()))
    assert list(named) == NAMES
    assert list(groups) == list(presets("groups"))
    assert CHOICES["preset"] == named


def test_another_name_is_refused_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "agent.toml").write_text('[[policy]]\nname = "a"\npreset = "films"\n')
    with pytest.raises(ConfigRefused) as refused:
        load(tmp_path / "agent.toml", {})
    [problem] = refused.value.problems
    assert (problem.field, problem.problem) == ("policy[0].preset", "is not a preset")
    assert problem.instead == 'write one of "tv-content", "appliances", "presence", "bill"'


@pytest.mark.parametrize("name", NAMES)
def test_what_is_documented_is_what_the_file_says(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    raw = tomllib.loads(FILE.read_text())[name]
    section = reference().split(f"### `{name}`")[1].split("###")[0]
    [block] = re.findall(r"```toml\n(.*?)```", section, re.DOTALL)
    assert tomllib.loads(block) == raw["policy"]
    assert main(["explain", "--preset", name]) == Exit.OK
    said = " ".join(capsys.readouterr().out.split())
    evidence = raw["evidence"]
    names = ("success", "most", "chance", "week", "weeks", "guessed")
    shares = [Decimal(evidence[key]) * 100 for key in names]
    for told in (said, section):
        assert raw["hides"] in told
        assert " ".join(raw["why"].split()) in told
        assert evidence["attack"] in told
        assert evidence["goal"] in told
        assert all(f"{share.normalize():f} %" in told for share in shares)
        assert ("provisional" in told) == (evidence["source"] == "provisional")
        assert evidence["source"] in told


def test_programs_are_told_the_preset_and_what_was_changed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["explain", "--json", "--preset", "appliances", "--epsilon", "0.5"]) == Exit.OK
    [policy] = json.loads(capsys.readouterr().out)["policies"]
    assert policy["choice"]["preset"] == policy["name"] == "appliances"
    assert policy["choice"]["changed"] == ["epsilon"]
    assert settings(preset="appliances").policy.id != policy["policy"]


def test_evidence_that_was_worked_out_names_its_command() -> None:
    table = tomllib.loads(FILE.read_text())[NAMES[0]]["evidence"]
    measured = Evidence.model_validate({**table, "source": "python -m simulations.choose"})
    assert measured.words.endswith("Worked out by `python -m simulations.choose`.")


@pytest.mark.parametrize(
    ("success", "most", "chance", "weeks"),
    [
        ("0.3", "0.2", "0", "0"),
        ("0.1", "1.1", "0", "0"),
        ("0", "0", "1.1", "0"),
        ("0", "0", "0", "2"),
    ],
)
def test_evidence_is_shares_in_order(success: str, most: str, chance: str, weeks: str) -> None:
    table = tomllib.loads(FILE.read_text())[NAMES[0]]["evidence"]
    shares = {"success": success, "most": most, "chance": chance, "weeks": weeks}
    with pytest.raises(ValidationError):
        Evidence.model_validate({**table, **shares})


def test_a_preset_has_no_other_parts() -> None:
    table = tomllib.loads(FILE.read_text())[NAMES[0]]
    with pytest.raises(ValidationError):
        Preset.model_validate({**table, "more": "x"})
