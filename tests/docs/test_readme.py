"""What the README shows is so."""

import json
import re
from pathlib import Path

import jsonschema
import pytest

from meteragent.commands.parser import parser
from meteragent.config import load
from meteragent.formats.schema import reading_schema, release_schema
from meteragent.stream.partition import diagram
from tests.docs.completions import commands
from tests.docs.house import house
from tests.docs.pages import DRAWN_IN, FOLDER, drawn_anew, pages

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_the_configuration_is_good_and_its_budget_covers_a_day(tmp_path: Path) -> None:
    for configuration in blocks("toml"):
        (tmp_path / "agent.toml").write_text(configuration)
        config = load(tmp_path / "agent.toml", {})
        policies = (*config.policies, *(one.policy for one in config.groups))
        assert len(policies) == 1
        policy = policies[0]
        assert policy.budget // sum(policy.terms.costs) == policy.terms.per_horizon


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


@pytest.mark.parametrize("path", DRAWN_IN, ids=lambda path: path.name)
def test_what_is_drawn_from_the_code_is_fresh(path: Path) -> None:
    """If not: python -m tests.docs.pages"""
    page = path.read_text("utf-8")
    assert drawn_anew(page) == page


def test_the_readme_shows_the_house_and_the_life_of_a_partition() -> None:
    assert house() in README
    assert diagram() in blocks("mermaid")


@pytest.mark.parametrize(("name", "content"), sorted(pages().items()))
def test_the_reference_is_fresh(name: str, content: str) -> None:
    """If not: python -m tests.docs.pages"""
    assert (FOLDER / name).read_text("utf-8") == content


def test_the_reference_has_every_command_and_no_other_page() -> None:
    page = pages()["commands.md"]
    told = set(re.findall("^## `(meteragent .*)`$", page, re.MULTILINE))
    paths = [command.prog for command in commands(parser())]
    assert told == {p for p in paths if not any(other.startswith(f"{p} ") for other in paths)}
    assert {path.name for path in FOLDER.iterdir()} >= {*pages()}
