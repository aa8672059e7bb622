"""Recompute what five papers prove, print and draw; one page says what became of each number.

python -m simulations.papers                  with simulated programmes
python -m simulations.papers --traces DIR     with recordings of real television sets
"""

import sys
from typing import Any

from simulations.kit.command import Run, main
from simulations.papers import dates, pictures, signature
from simulations.papers.page import page
from simulations.papers.row import Row, Verdict
from simulations.papers.signature import Recognised
from simulations.papers.tables import PAPERS, rows, unaccounted

PAGE = "papers.md"


def simulate(run: Run) -> None:
    """All of it."""
    found = recognised(run)
    made = rows(run, run.results["signature"])
    run.results["papers"] = [
        {"title": paper.title, "rows": [row.document() for row in made[paper.key]]}
        for paper in PAPERS
    ]
    run.results["unaccounted"] = unaccounted(made)
    run.results["failed"] = [
        f"{paper.title}: {row.says}"
        for paper in PAPERS
        for row in made[paper.key]
        if row.verdict == Verdict.FAILED
    ]
    _dates(run)
    draw(run, found)
    for paper in PAPERS:
        print(paper.title)
        for row in made[paper.key]:
            _print(row)
    (run.out / PAGE).write_text(page(run.command, run.results, run.figures), encoding="utf-8")


def _print(row: Row) -> None:
    printed = f" (printed: {row.printed})" if row.printed else ""
    print(
        f"  {row.verdict:14} {'; '.join(row.items)}: {row.says}{printed}: {row.ours or row.lives}"
    )


def draw(run: Run, found: list[Recognised]) -> None:
    """All pictures."""
    pictures.draw_signature(run, found)
    pictures.draw_dates(run)
    pictures.draw_regions(run)
    pictures.draw_study(run)


def recognised(run: Run) -> list[Recognised]:
    """Who recognises the noisy signature, setting by setting."""
    contents = signature.chunks(run)
    found = [
        signature.recognised(run, contents, epsilon)
        for epsilon in run.each(signature.EPSILONS, "signatures")
    ]
    run.results["signature"] = {
        "contents": len(contents.watts),
        "source": "recorded" if run.traces else "simulated",
        "seconds": signature.SECONDS,
        "sampled_every": signature.SAMPLED,
        "printed": "not recognisable, especially for ε = .5",
        "measured": [_document(one) for one in found],
    }
    return found


def _document(one: Recognised) -> dict[str, Any]:
    return {
        "epsilon_per_watt": one.epsilon,
        "chance": round(one.chance, 6),
        "by_correlation": one.by_correlation.document(),
        "by_likelihood": one.by_likelihood.document(),
    }


def _dates(run: Run) -> None:
    epsilon = 1.0
    run.results["dates"] = {
        "days": dates.DAYS,
        "epsilon": epsilon,
        "within_95_percent": {
            setting.name: {
                "computed": round(setting.within(0.95), 3),
                "drawn": round(dates.measured(setting, run.draw(8, number)), 3),
            }
            for number, setting in enumerate(dates.settings(epsilon))
        },
    }


if __name__ == "__main__":
    sys.exit(main("papers", __doc__, simulate))
