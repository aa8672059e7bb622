"""What the README shows is so."""

import json
import re
from pathlib import Path

import jsonschema
import pytest

from meteragent.config import load
from meteragent.config.reference import reference
from meteragent.partition import diagram
from meteragent.schema import reading_schema, release_schema

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_the_configuration_is_good_and_its_budget_covers_a_day(tmp_path: Path) -> None:
    (configuration,) = blocks("toml")
    (tmp_path / "agent.toml").write_text(configuration)
    (policy,) = load(tmp_path / "agent.toml", {}).policies.values()
    assert policy.budget // sum(policy.terms.costs) == policy.terms.windows


def test_the_release_obeys_its_schema() -> None:
    (release,) = blocks("json")
    jsonschema.validate(json.loads(release), release_schema())


@pytest.mark.parametrize("reading", re.findall(r"`(\{\"meter_id\".*?\})`", README, re.DOTALL))
def test_the_readings_obey_their_schema(reading: str) -> None:
    jsonschema.validate(json.loads(reading), reading_schema())


def test_every_file_that_is_linked_is_there() -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_every_command_that_is_shown_is_known() -> None:
    from meteragent.cli import parser  # noqa: PLC0415 - only here

    shown = re.findall(r"\$ meteragent ((?:(?! #).)+)", README)
    assert shown
    for command in shown:
        parser().parse_args(command.split())


def test_the_diagram_is_drawn_from_the_table() -> None:
    assert diagram() in blocks("mermaid")


def test_the_reference_of_the_configuration_is_fresh() -> None:
    """If not: meteragent config reference > deploy/reference/configuration.md"""
    page = ROOT / "deploy" / "reference" / "configuration.md"
    assert page.read_text() == reference()
