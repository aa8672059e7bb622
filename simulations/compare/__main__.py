"""Compare the product with other ways to publish averages, at equal protection.

    python -m simulations.compare                  with simulated programmes
    python -m simulations.compare --traces DIR     with recordings of real television sets

By what an attacker makes of the releases (which of 200 channels was watched); by two versions of a
home that are told apart equally well, exactly; and by one promise to each home, kept with one draw
for all or with one for each, and by spending that follows the readings.
"""

import sys
from typing import Any

from simulations.compare import adaptive, free
from simulations.compare.central import homes_for, one_draw, ways
from simulations.compare.equal import equals
from simulations.compare.frontier import FEW, LENGTHS, Frontier, frontier, task
from simulations.compare.page import page
from simulations.compare.picture import draw_frontiers, draw_promise
from simulations.compare.rivals import Task, rivals
from simulations.home.street import lived
from simulations.kit.command import Run, main

SPENT, FREE = 40, 10
"""Homes of the street of which every quarter hour of four weeks is released: as spending follows
them, and as readers take off what is free."""
FEEDERS = (10, 50, 100, 200, 1000)


def simulate(run: Run) -> None:
    """Frontiers first, then equal success, equal promise, spending, and what is free."""
    lengths = dict([*LENGTHS.items()][:1]) if run.quick else LENGTHS
    tasks = {name: task(run, seconds) for name, seconds in lengths.items()}
    found = {
        name: [frontier(run, rival, of) for rival in run.each(rivals(quick=run.quick), name)]
        for name, of in tasks.items()
    }
    every = lived(run)
    spent, few = every[: 3 if run.quick else SPENT], 3 if run.quick else FREE
    run.results = {
        "source": "recorded" if run.traces else "simulated",
        "frontiers": {name: _document(tasks[name], those) for name, those in found.items()},
        "equal_success": [one.document() for one in equals()],
        "equal_promise": [way.document() for way in ways()],
        "one_draw": {
            "homes_for_ten": homes_for(10),
            "times": {str(size): round(one_draw(size), 3) for size in FEEDERS},
        },
        "adaptive": {"homes": len(spent), "errors": adaptive.study(run, spent)},
        "free": {"homes": few, **free.study(run, every[:few], every[few:])},
    }
    draw_frontiers(run, {name: (tasks[name], frontiers) for name, frontiers in found.items()})
    draw_promise(run, ways(), run.results["adaptive"])
    (run.out / "compare.md").write_text(page(run.command, run.results), encoding="utf-8")
    _print(run)


def _document(of: Task, frontiers: list[Frontier]) -> dict[str, Any]:
    few = {f.rival.name: f.error_at(FEW) for f in frontiers}
    return {
        "contents": len(of.contents),
        "trials_each": len(of.homes),
        "chance": round(of.chance, 6),
        "compared_at": FEW,
        "error_watts": {name: _rounded(error) for name, error in few.items()},
        "times_our_error": {
            name: _rounded(_over(error, few["agent"])) for name, error in few.items()
        },
        "error_at_chance_watts": {
            f.rival.name: _rounded(f.least_error(of.chance)) for f in frontiers
        },
        "ways": {
            f.rival.name: {
                "label": f.rival.label,
                "knob": f.rival.knob,
                "points": [point.document() for point in f.points],
            }
            for f in frontiers
        },
    }


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, 3)


def _over(error: float | None, ours: float | None) -> float | None:
    return None if error is None or ours is None else error / ours


def _print(run: Run) -> None:
    for name, document in run.results["frontiers"].items():
        print(
            f"{name}: error at which {FEW:.0%} are named rightly (chance {document['chance']:.2%})"
        )
        for way, error in document["error_watts"].items():
            times = document["times_our_error"][way]
            said = "never" if error is None else f"{error:8.1f} W  {times} times ours"
            print(f"  {way:10} {said}")


if __name__ == "__main__":
    sys.exit(main("compare", __doc__, simulate))
