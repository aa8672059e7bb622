"""The frontier: what each window costs, contest by contest, and where attacks come to nothing."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes

from simulations.choose.search import Point
from simulations.kit.command import Run
from simulations.kit.plot import CYCLE, DANGER, TRUE, axes

COLUMNS = 3
STYLES = ("-", "--", ":")


def frontier(run: Run, points: Sequence[Point], most: float) -> None:
    """Success against the error, window by window, in a panel for each contest."""
    contests = [verdict.contest for verdict in points[0].trials[0].verdicts]
    columns = min(COLUMNS, len(contests))
    rows = -(-len(contests) // columns)
    with axes(rows, columns, width=9.2, height=2.1 + 1.7 * rows) as (figure, panels):
        for number, (panel, contest) in enumerate(zip(panels, contests, strict=False)):
            for point in points:
                _curve(panel, point, number, points)
            chance = points[0].trials[0].verdicts[number].chance
            panel.axhline(100 * chance, color=TRUE, linestyle="--", label="guessing")
            panel.axvline(most, color=DANGER, linestyle=":", label=f"allowed: {most:g} W")
            panel.set_xscale("log")
            panel.xaxis.set_major_formatter("{x:g}")
            panel.set_ylim(bottom=0)
            panel.set_title(_folded(contest), fontsize=9)
            panel.set_xlabel("typical error (W)")
        for panel in panels[len(contests) :]:
            panel.set_axis_off()
        panels[0].set_ylabel("success (%)")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=5, fontsize=8)
        run.picture(
            figure,
            "frontier",
            f"What it costs to hide {run.results['hides']}",
            "Success of the strongest attack, one panel for each thing that is at stake. Each line "
            "is a length of window; further right is more noise. Stars mark the least noise at "
            "which no attack is right in more than 54 % where guessing is right in 50 %, or more "
            "than seven times where guessing is six times; lines without a star never get there. "
            "Worked out from the law of the noise; of many stories in several windows, a bound.",
        )


def _curve(panel: Axes, point: Point, number: int, points: Sequence[Point]) -> None:
    """One window and set of queries, at every noise that was tried."""
    some = sorted(point.trials, key=lambda trial: trial.candidate.noise)
    error = [trial.candidate.error for trial in some]
    value = [100 * trial.verdicts[number].success for trial in some]
    windows = list(dict.fromkeys(p.window for p in points))
    queries = list(dict.fromkeys(p.queries for p in points))
    colour = CYCLE[windows.index(point.window) % len(CYCLE)]
    style = STYLES[(len(queries) - 1 - queries.index(point.queries)) % len(STYLES)]
    label = f"{point.window}: {' and '.join(point.queries)}"
    panel.plot(error, value, style, color=colour, marker="o", markersize=2.5, label=label)
    if point.best:
        best = 100 * point.best.verdicts[number].success
        star: dict[str, Any] = {"marker": "*", "markersize": 11, "markeredgecolor": "white"}
        panel.plot(point.best.candidate.error, best, color=colour, **star)


def _folded(text: str, width: int = 34) -> str:
    """At most two lines of about so many letters."""
    if len(text) <= width:
        return text
    space = text.find(" ", len(text) // 2)
    return text[:space] + "\n" + text[space + 1 :] if space > 0 else text
