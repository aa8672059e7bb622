"""What the README and the pages of the guide show is so."""

import json
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest

from deploy.manual.gather import linked
from meteragent.commands.parser import parser
from meteragent.config import keyfile, load
from meteragent.formats.schema import reading_schema, release_schema
from meteragent.stream.partition import diagram
from tests.docs.completions import commands
from tests.docs.house import house
from tests.docs.pages import DRAWN_IN, FOLDER, drawn_anew, pages

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
GUIDE = sorted((ROOT / "deploy" / "guide").glob("*.md"))
PAGES = (ROOT / "README.md", *GUIDE)
MESSAGES = (ROOT / "deploy" / "guide" / "messages.md").read_text()


def blocks(language: str, page: str = README) -> list[str]:
    return re.findall(rf"```{language}(?: title=[^\n]*)?\n(.*?)```", page, flags=re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_configuration_is_good_and_its_budget_covers_a_day(page: Path, tmp_path: Path) -> None:
    for configuration in blocks("toml", page.read_text("utf-8")):
        (tmp_path / "agent.toml").write_text(configuration)
        config = load(tmp_path / "agent.toml", {})
        policies = (*config.policies, *(one.policy for one in config.groups))
        assert len(policies) == 1
        policy = policies[0]
        assert policy.budget // sum(policy.terms.costs) == policy.terms.per_horizon


def test_the_release_obeys_its_schema() -> None:
    (release,) = blocks("json", MESSAGES)
    jsonschema.validate(json.loads(release), release_schema())


@pytest.mark.parametrize("reading", re.findall(r"`(\{\"meter_id\".*?\})`", MESSAGES, re.DOTALL))
def test_the_readings_obey_their_schema(reading: str) -> None:
    jsonschema.validate(json.loads(reading), reading_schema())


def test_the_caption_says_what_the_picture_shows_with_its_interval_and_guessing() -> None:
    """If not: python -m simulations.demo --no-kafka --picture deploy/demo.png"""
    found = json.loads((ROOT / "deploy" / "demo.json").read_text())
    readings, releases = found["by_readings"], found["by_releases"]
    told = " ".join(README.split())
    low, high = (f"{100 * releases[end]:.1f}" for end in ("low", "high"))
    assert (
        f"one of {found['films']}, in {readings['hits']} of {readings['of']} homes from the "
        f"readings, and in {releases['hits']} of {releases['of']} from what is published: "
        f"{100 * releases['share']:.1f} % (95 % interval: {low} to {high} %). Guessing is right "
        f"in {100 * found['guessing']:.1f} %."
    ) in told
    ways = ("one_draw", "added_up")
    street = {way: f"{100 * found['street'][way]['mean']:.1f} %" for way in ways}
    assert (
        f"The street's sum, released in one draw, is off by {street['one_draw']} in an average "
        f"hour; added up from what the homes publish, by {street['added_up']}."
    ) in told
    assert releases["low"] <= found["guessing"] <= releases["high"]


def test_the_readme_is_read_in_a_few_minutes() -> None:
    """Some nine hundred words, with all that is to be typed."""
    assert len([word for word in README.split() if re.search(r"\w", word)]) <= 920


def test_every_page_of_the_guide_can_be_found_from_the_readme() -> None:
    """By the links of pages that were found so."""
    found, new = set[Path](), {ROOT / "README.md"}
    while new:
        found |= new
        pages = {
            target
            for page in new
            for target in linked(page.relative_to(ROOT).as_posix(), page.read_text("utf-8"))
        }
        new = {page for page in pages if page.suffix == ".md"} - found
    assert {*GUIDE} - found == set()


def test_what_the_library_page_shows_can_be_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    keyfile.create(Path("noise.key"))
    moments = [datetime(2025, 11, 18) + timedelta(minutes=n) for n in range(1440)]  # noqa: DTZ001
    frame = pl.DataFrame({"home": "a", "at": moments, "watts": 250.0})
    names: dict[str, Any] = {"frame": frame}
    [shown] = blocks("python", (ROOT / "deploy" / "guide" / "library.md").read_text())
    exec(shown, names)  # noqa: S102 - what our own page says
    assert names["bills"].height == 1


@pytest.mark.parametrize("path", DRAWN_IN, ids=lambda path: path.name)
def test_what_is_drawn_from_the_code_is_fresh(path: Path) -> None:
    """If not: python -m tests.docs.pages"""
    page = path.read_text("utf-8")
    assert drawn_anew(page) == page


def test_contributing_shows_the_house_and_the_life_of_a_partition() -> None:
    assert house() in CONTRIBUTING
    assert diagram() in blocks("mermaid", CONTRIBUTING)


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
