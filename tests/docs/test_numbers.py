"""Every number that the pages state was measured, and is that of the results; or it is given.

If not: `measured.toml` says where numbers come from, or `python -m simulations.keep` keeps them.
"""

import json
import re
from pathlib import Path

import pytest

from deploy.manual.gather import pages as manual
from simulations import keep
from simulations.report.page import NOTE
from simulations.report.words import CHAPTERS, GLOSSARY
from tests.docs import numbers
from tests.docs.numbers import RESULTS, Page, pages

PAGES = pages()
DRAWN = ("deploy/reference/", "deploy/supply/", "simulations/results/")
"""Pages that commands write: other tests hold them to the byte against code and results."""


@pytest.mark.parametrize("name", PAGES)
def test_a_page_quotes_results_as_they_are(name: str) -> None:
    text = PAGES[name].text
    assert [quote for quote in PAGES[name].quotes() if quote not in text] == []


@pytest.mark.parametrize("name", PAGES)
def test_every_number_of_a_page_was_measured_or_is_given(name: str) -> None:
    assert PAGES[name].loose() == {}
    assert PAGES[name].unused() == set(), "given, and not on the page"


def test_every_page_of_the_manual_is_read() -> None:
    assert {page for page in manual() if not page.startswith(DRAWN)} == {*PAGES}


def test_what_a_page_says_of_speed_is_kept_or_known_to_lack() -> None:
    """If not: COMMAND | python -m simulations.keep …, and take it off the list in measured.toml."""
    for page in PAGES.values():
        if page.not_kept is not None:
            assert page.commands() - {*numbers.kept()} == {*page.not_kept}


def test_the_page_on_speed_says_in_short_what_its_sections_say() -> None:
    """Who measures anew and changes a table has its first lines to change as well."""
    page = PAGES["deploy/performance.md"].source
    _, short, *sections = re.split(r"^(?=## )", page, flags=re.MULTILINE)
    assert short.startswith("## In short")
    said, told = ({*numbers.figures(text)} for text in (short, "".join(sections)))
    assert len(said) > 5
    assert said - told == set()


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(numbers, "ROOT", tmp_path)
    return tmp_path / "page.md"


def test_a_number_that_nobody_measured_is_found(page: Path) -> None:
    page.write_text(
        "## 1. It is right in 53.8 % of 1,200 cases (`99 %`), see [8](a7.md).\n\n"
        "1. Exit codes 3, 4 and 12 of Python 3.11 since 2026-01-05, version 1.2.3: 12 W, x2.5.\n"
    )
    assert {*Page("page.md").loose()} == {"53.8 %", "1,200 cases", "8", "12 W"}
    assert {*Page("page.md", given=["12 W"], read="W %").loose()} == {"53.8 %"}
    assert Page("page.md", given=["12 W", "13 W"]).unused() == {"13 W"}


def test_a_quote_stands_for_its_numbers_there_and_nowhere_else(page: Path) -> None:
    sources = ["choose-tv-content verdicts[0].cases d"]
    films = json.loads((RESULTS / "choose-tv-content.json").read_text())["results"]["verdicts"][0]
    page.write_text(f"One of {films['cases']} films.\n\nThere are {films['cases']} of them.\n")
    quoting = Page("page.md", [["one of {} films", *sources], ["One of {} films", *sources]])
    assert [quote in quoting.text for quote in quoting.quotes()] == [False, True]
    assert {*quoting.loose()} == {str(films["cases"])}


def test_of_a_page_on_speed_numbers_are_those_that_its_commands_printed(
    page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = {"printed": ["readings 301,234 7.249", "blocks 4,100,400 13%"]}
    monkeypatch.setattr(numbers, "kept", lambda: {"python -m simulations.fleet days": run})
    page.write_text(
        "`python -m simulations.fleet days`: 301,000 | 7.25 | 4.1 million | 13 % | 14 %\n"
        "## Next\n`python -m simulations.frames`: 9 W\n"
        "## Last\n8 W\n"
    )
    read = Page("page.md", not_kept=["python -m simulations.frames"])
    assert {*read.loose()} == {"14 %", "8 W"}
    assert read.commands() == {"python -m simulations.fleet days", "python -m simulations.frames"}


def test_what_a_command_prints_is_kept_beside_what_others_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(keep, "KEPT", tmp_path / "kept.json")
    for lines, words in ((["a 1\n"], ["x"]), (["b 2\n", "c 3\n"], ["fleet", "days"])):
        monkeypatch.setattr("sys.stdin", lines)
        assert keep.main(words) == 0
    assert capsys.readouterr().out == "a 1\nb 2\nc 3\n"
    kept = json.loads((tmp_path / "kept.json").read_text())
    assert kept["python -m simulations.fleet days"]["printed"] == ["b 2", "c 3"]
    assert {*kept} == {"python -m simulations.x", "python -m simulations.fleet days"}
    monkeypatch.setattr("sys.stdin", [])
    assert keep.main(["x"]) == 1
    assert keep.main([]) == 2
    assert json.loads((tmp_path / "kept.json").read_text()) == kept


def test_the_report_itself_states_no_number_but_what_is_aimed_at() -> None:
    """Its tables and captions are made from results; its sentences hold for any of them."""
    prose = [NOTE, *GLOSSARY.values(), *(one.lead + one.title for one in CHAPTERS.values())]
    stated = {n.partition(" ")[0] for text in prose for n in numbers.TOKEN.findall(text)}
    assert stated <= {"54", "50", "15", "200", "95", "100"}


@pytest.mark.parametrize("name", ["uses", "claims", "compare", "practice"])
def test_pages_of_results_have_no_number_that_their_results_do_not_have(name: str) -> None:
    """They are written by their commands, and other tests hold them against these to the byte."""
    page = (RESULTS / f"{name}.md").read_text("utf-8")
    assert json.loads((RESULTS / f"{name}.json").read_text("utf-8"))["command"] in page
