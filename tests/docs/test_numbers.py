"""Every number that the pages state was measured, and is that of the results; or it is given.

What stands in code, links and commands is not read: other tests type and check it.
"""

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from simulations.report.page import NOTE
from simulations.report.words import CHAPTERS, GLOSSARY

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "simulations" / "results"
NUMBER = re.compile(r"(?<![\w.,/:-])\d[\d,]*\d(?:\.\d+)?|(?<![\w.,/:-])\d(?:\.\d+)?")


def numbers(text: str) -> set[str]:
    """Of prose and tables."""
    text = re.sub(r"```.*?```|`[^`]*`|https?://\S+", "", text, flags=re.DOTALL)
    return set(NUMBER.findall(re.sub(r"\]\([^)]*\)", "]", text)))


def found(name: str, folder: Path = RESULTS) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / f"{name}.json").read_text("utf-8"))
    results: dict[str, Any] = document.get("results", document)
    return results


def percent(share: float, places: int = 1) -> str:
    return f"{100 * share:.{places}f}"


def of_readme() -> Iterable[str]:
    """The demo's caption, the five minutes of one film, and a day's error."""
    demo = found("demo", ROOT / "deploy")
    for seen in (demo["by_readings"], demo["by_releases"]):
        yield from (str(seen["hits"]), str(seen["of"]))
    yield from (percent(demo["by_releases"][end]) for end in ("share", "low", "high"))
    yield from (str(demo["films"]), percent(demo["guessing"]))
    yield from (percent(demo["street"][way]["mean"]) for way in ("one_draw", "added_up"))
    chosen = found("choose-tv-content")
    film = chosen["verdicts"][0]
    yield from (percent(film["success"], 2), str(film["cases"]))
    yield chosen["chosen"]["evidence"]["error"].removesuffix("W")
    yield "100"  # from readings of two seconds: `test_results` holds it against `tv.json`


def of_promise() -> Iterable[str]:
    """All contests of the tables, what noise costs, and streets."""
    for hide in ("tv-content", "appliances", "presence"):
        chosen = found(f"choose-{hide}")
        places = 2 if hide == "tv-content" else 1
        for verdict in (*chosen["verdicts"], *chosen["habits"]):
            yield from (percent(verdict["success"], places), percent(verdict["chance"], places))
            yield from (percent(verdict["chance"], 0), str(verdict["cases"]))
        yield chosen["chosen"]["evidence"]["error"].removesuffix("W")
        yield from (f"{point['noise_watts'] or 0:,}" for point in chosen["points"])
        yield percent(chosen["month_error"], 2)
        yield from (percent(one["worst"]["success"], 0) for one in chosen["bills"])
        yield from (percent(one["worst"]["success"]) for one in chosen["bills"])
        yield f"{found('utility')['energy'][f'preset {hide}']['homes_for_1_percent']:,}"
    told = found("choose-bill")
    yield from (percent(one["success"]) for one in (*told["verdicts"], *told["habits"]))
    yield "100"


def of_feeder() -> Iterable[str]:
    """A quarter hour of a thousand homes, by both ways; and what the presets of feeders tell."""
    for name in ("feeder", "feeder-15m"):
        told = found(f"choose-{name}")
        kettle = told["verdicts"][0]
        yield from (percent(kettle["success"], 0), percent(kettle["chance"], 0))
        error = told["chosen"]["evidence"]["error"].removesuffix("W")
        yield f"{int(error) / 1000:.1f}"
        for homes, share in told["off_by_homes"].items():
            yield from (f"{int(homes):,}", percent(share), percent(share, 0))
    for sizes in found("feeder")["promises"].values():
        for size, one in sizes.items():
            yield f"{int(size):,}"
            yield from (percent(way["mean_off"]) for way in one["quarter_hour"].values())
    for tasks in found("feeder")["uses"].values():
        for its in tasks.values():
            for way in ("homes", "group"):
                yield from (f"{its[way]['mean']:.{places}f}" for places in (0, 1))


GIVEN = {
    "README.md": {
        **dict.fromkeys(("3.11", "17"), "versions that it needs"),
        "0.1": "its own former version",
        "95": "the confidence of an interval",
        "2": "seconds between readings",
    },
    "promise.md": {
        **dict.fromkeys(("25", "2", "26"), "an example of a radius and a grid"),
        **dict.fromkeys(("28", "30", "7"), "days of a habit, and of windows"),
        **dict.fromkeys(("95", "1", "400"), "what a bill has to be: within 1 %, of 400 W"),
        "320": "bits of a threshold",
        "200": "channels",
    },
    "feeder.md": {
        "100": "cases, and homes",
        "30": "percent that somebody hides",
        "40": "homes",
        "400": "watts of a usual home",
    },
    "compared.md": {},
}
PAGES: dict[str, Callable[[], Iterable[str]]] = {
    "README.md": of_readme,
    "deploy/guide/promise.md": of_promise,
    "deploy/guide/feeder.md": of_feeder,
    "deploy/guide/compared.md": list,
}


@pytest.mark.parametrize("page", PAGES)
def test_every_number_of_a_page_was_measured_or_is_given(page: str) -> None:
    stated, given = numbers((ROOT / page).read_text("utf-8")), GIVEN[Path(page).name]
    assert stated - {*PAGES[page]()} - {*given} == set()
    assert {*given} - stated == set(), "given, and not on the page"


def test_a_number_that_nobody_measured_is_found() -> None:
    stated = numbers("It is right in 53.8 % of 1,200 cases (`99 %`), see [8](a7.md): 12 W.")
    assert stated == {"53.8", "1,200", "8", "12"}


def test_the_report_itself_states_no_number_but_what_is_aimed_at() -> None:
    """Its tables and captions are made from results; its sentences hold for any of them."""
    prose = [NOTE, *GLOSSARY.values(), *(one.lead + one.title for one in CHAPTERS.values())]
    assert {n for text in prose for n in numbers(text)} <= {"54", "50", "15", "200", "95", "100"}


@pytest.mark.parametrize("name", ["uses", "claims", "compare", "practice"])
def test_pages_of_results_have_no_number_that_their_results_do_not_have(name: str) -> None:
    """They are written by their commands, and other tests hold them against these to the byte."""
    page = (RESULTS / f"{name}.md").read_text("utf-8")
    assert json.loads((RESULTS / f"{name}.json").read_text("utf-8"))["command"] in page
