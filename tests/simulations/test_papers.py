"""What five papers print is what comes out, and no item of theirs is left out."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from simulations.kit.command import RESULTS, SEED, Run
from simulations.papers import __main__ as papers
from simulations.papers.page import page
from simulations.papers.row import Row, Verdict, number
from simulations.papers.tables import PAPERS, counted, unaccounted

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
DIFFERENT = {
    ("Example 2", "the noisy signature of a film"),
    ("Example 3", "that prior is regular from ε ="),
    ("Section 6", "two counts over 30 people: least ε"),
    ("Table 6a", "Euclidean grid 3 × 3: vertices"),
    ("Table 7a", "Hamming cube of 3 bits: kernels"),
}
"""What does not come out as printed. A row more, or one less, is news."""


@pytest.fixture(scope="module")
def kept() -> dict[str, Any]:
    document: dict[str, Any] = json.loads((RESULTS / "papers.json").read_text("utf-8"))
    return document


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return made(tmp_path_factory.mktemp("papers"), quick=True)


def made(folder: Path, *, quick: bool) -> Run:
    flags = " --quick" * quick
    command = f"python -m simulations.papers --seed {SEED}{flags}"
    done = Run("papers", SEED, folder, quick=quick, traces=None, command=command)
    papers.simulate(done)
    return done


def rows(results: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for paper in results["papers"]:
        for row in paper["rows"]:
            yield {"paper": paper["title"], **row}


def keyed(results: dict[str, Any]) -> dict[tuple[str, ...], dict[str, Any]]:
    found = {(row["paper"], *row["items"], row["says"]): row for row in rows(results)}
    assert len(found) == len(list(rows(results))), "two rows say the same"
    return found


def test_every_item_of_every_paper_has_a_row(kept: dict[str, Any]) -> None:
    assert kept["results"]["unaccounted"] == []
    assert not kept["quick"]
    for paper, told in zip(PAPERS, kept["results"]["papers"], strict=True):
        assert {item for row in told["rows"] for item in row["items"]} == {*paper.items}
        assert all(row["says"] and (row["ours"] or row["lives"]) for row in told["rows"])


RECOMPUTED = {
    "Broadening the scope": (
        *("Example 1", "Figure 3", "Proposition 2", "Proposition 3", "Proposition 4"),
        *("Proposition 5", "Theorem 11", "Theorem 12", "Theorem 3", "Theorem 4"),
    ),
    "Differential privacy in metric": (
        *("Lemma 3", "Theorem 5", "Theorem 4", "Corollary 1", "Lemma 4", "Theorem 6", "Theorem 7"),
    ),
    "Generalized": (
        *("Definition 4", "Definition 5", "Definition 6", "Figure 2", "Figure 3", "Theorem 1"),
        *(
            "Theorem 2",
            "Theorem 3",
            "Definition 7",
            "Example 3",
            "Figure 4",
            "Figure 5",
            "Figure 6",
        ),
    ),
    "d_X-private": (
        *("Theorem 1", "Theorem 3", "Algorithm 1", "Algorithm 2", "Algorithm 3", "Theorem 7"),
        "Sections 4.1 to 4.4",
    ),
    "Universal optimality": (
        *("Table 4a", "Table 5a", "Table 6a", "Table 7a", "Definition 4", "Definition 5"),
        *("Refinement", "Existence on the line", "Impossibility on the cube", "Corollary 17"),
    ),
}
"""What a reader of each paper looks for first."""


def test_what_a_reader_looks_for_is_computed_here(kept: dict[str, Any]) -> None:
    for title, items in RECOMPUTED.items():
        made = [row for row in rows(kept["results"]) if row["paper"].startswith(title)]
        computed = {
            item for row in made if row["ours"] and ".py" in row["lives"] for item in row["items"]
        }
        assert {*items} - computed == set(), title


def test_every_row_says_where_it_lives_or_why_it_does_not(kept: dict[str, Any]) -> None:
    for row in rows(kept["results"]):
        verdict, lives = row["verdict"], row["lives"]
        if verdict == Verdict.OUTSIDE:
            assert len(lives.split()) > 3, row
        elif verdict == Verdict.UNKNOWN and not lives:
            assert "not noted" in row["says"], row
        else:
            assert re.search(r"(simulations|tests)/[a-z_/]+\.py", lives), row


def test_an_item_without_a_row_is_noticed_and_so_is_one_too_many() -> None:
    every = {
        paper.key: [Row((item,), "", "", "", Verdict.HOLDS, "") for item in paper.items]
        for paper in PAPERS
    }
    assert unaccounted(every) == []
    gone = every["spaces"].pop()
    assert unaccounted(every) == [f"Differential privacy in metric spaces (2015): {gone.items[0]}"]
    every["spaces"] += [gone, replace(gone, items=("Theorem 99",))]
    assert unaccounted(every) == ["Differential privacy in metric spaces (2015): Theorem 99"]


def test_nothing_failed_and_what_differs_is_known(kept: dict[str, Any]) -> None:
    assert kept["results"]["failed"] == []
    found = {
        (row["items"][0], row["says"]): row
        for row in rows(kept["results"])
        if row["verdict"] == Verdict.DIFFERS
    }
    assert found.keys() == DIFFERENT
    assert all(row["printed"] and len(row["ours"]) > 60 for row in found.values())


def test_rows_are_what_is_computed(run: Run, kept: dict[str, Any]) -> None:
    """The quick run leaves rows out, and sees fewer films; every other row is the very same.

    If not: python -m simulations.papers
    """
    assert run.results["failed"] == []
    found, told = keyed(run.results), keyed(kept["results"])
    assert found.keys() < told.keys()
    assert len(found) > 0.85 * len(told)
    assert {key: row for key, row in found.items() if "Example 2" not in key} == {
        key: told[key] for key in found if "Example 2" not in key
    }


@pytest.mark.slow
def test_all_rows_are_what_is_computed(tmp_path: Path, kept: dict[str, Any]) -> None:
    again = made(tmp_path, quick=False)
    assert again.results == kept["results"]
    assert (tmp_path / papers.PAGE).read_bytes() == (RESULTS / papers.PAGE).read_bytes()


def test_the_page_is_written_from_the_results(kept: dict[str, Any]) -> None:
    """If not: python -m simulations.papers"""
    written = page(kept["command"], kept["results"], kept["figures"])
    assert (RESULTS / papers.PAGE).read_text("utf-8") == written
    table = [line for line in written.splitlines() if line.startswith("| ")]
    assert all(line.replace("\\|", "").count("|") in {7, 8} for line in table)


def test_whatever_a_row_or_the_page_points_to_is_there(kept: dict[str, Any]) -> None:
    for row in rows(kept["results"]):
        for part in filter(lambda part: ".py" in part, row["lives"].split("; ")):
            file, _, test = part.partition("::")
            assert not test or f"def {test}(" in (ROOT / file).read_text("utf-8")
    links = re.findall(r"\]\(([^)]+)\)", (RESULTS / papers.PAGE).read_text("utf-8"))
    assert len(links) > 50
    assert all((RESULTS / link).resolve().is_file() for link in links)


def test_the_same_seed_writes_the_same_bytes(run: Run, tmp_path: Path) -> None:
    """Pictures, and what they show of drawn numbers; that rows do not change is tested above."""
    again = replace(run, out=tmp_path, results={}, figures=[])
    papers.draw(again, papers.recognised(again))
    assert again.results["signature"] == run.results["signature"]
    assert again.figures == run.figures
    for file in [figure["file"] for figure in run.figures]:
        assert (tmp_path / file).read_bytes() == (run.out / file).read_bytes()
        assert (tmp_path / file).stat().st_size < 150_000


@pytest.mark.parametrize(
    ("printed", "ours", "why", "verdict"),
    [
        ("0.67", 2 / 3, "", Verdict.EQUAL),
        ("0.67", 0.664, "", Verdict.FAILED),
        ("0.67", 0.664, "half of it is missing", Verdict.DIFFERS),
        ("0.67", 2 / 3, "it should not be", Verdict.FAILED),
        ("15,346", 15346, "", Verdict.EQUAL),
        ("15,346", 15345, "", Verdict.FAILED),
    ],
)
def test_equal_means_to_the_last_printed_digit(
    printed: str, ours: float, why: str, verdict: Verdict
) -> None:
    assert number("Table 1", "", printed, ours, "", why).verdict is verdict


def test_a_slip_in_a_printed_number_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(counted.PRINTED["Table 4a"], 4, ("2.0", "0.68"))
    monkeypatch.setitem(counted.COUNTED["Table 5a"], 4, ("14", "42"))
    assert [row.says for row in counted.rows(quick=True) if row.verdict is Verdict.FAILED] == [
        "line of 4: additive capacity",
        "discrete, 4: kernels",
    ]


def test_a_signature_with_less_noise_is_recognised_more_often(run: Run) -> None:
    half, tenth, *_, least = run.results["signature"]["measured"]
    assert (half["epsilon_per_watt"], tenth["epsilon_per_watt"]) == ("0.5", "0.1")
    for attack in ("by_correlation", "by_likelihood"):
        assert half[attack]["low"] > 0.8
        assert half[attack]["share"] > tenth[attack]["share"] > least[attack]["share"]
