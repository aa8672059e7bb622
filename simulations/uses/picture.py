"""Protection and use in one picture: every setting a column, every question a row."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from simulations.kit import plot
from simulations.kit.command import Run

GOOD, HALF, BAD, NONE = "#0072b2", "#cfe3f1", "#f6d3bd", "#eef1f3"
PARTLY = 0.75
"""Of two stories, who is right more often than this is said to know."""


def picture(run: Run, results: dict[str, Any]) -> None:
    """Precondition: the results of a run, as its JSON holds them."""
    settings = results["settings"]
    secrets = [one["name"] for one in results["secrets"]]
    tasks = [_asked(one) for one in results["tasks"]]
    with plot.axes(2, 1, width=9.0, height=7.4) as (figure, (told, used)):
        if grid := told.get_gridspec():
            grid.set_height_ratios([len(secrets), len(tasks)])
        _cells(told, secrets, [_told(one["told"]) for one in settings])
        _cells(used, tasks, [_used(one["used"]) for one in settings])
        told.set_title("What it tells: the best attacker is right in so many % of cases")
        used.set_title("What it is good for")
        _heads(told, settings)
    run.picture(
        figure,
        "map",
        "What each setting hides, and what it is good for",
        "Columns are settings: single homes on the left, one draw for all homes of a feeder on the "
        "right of the line. Above: how often an attacker who knows all else in the home is right; "
        "blue where that is next to guessing (0.5 % of 200 channels, 50 % otherwise). Below: what "
        "the releases are worth; blue where that is good enough for the task from one end of its "
        "95 % interval to the other, by the limits and with the intervals in "
        "simulations/results/uses.md. No column is blue throughout: a home's fine readings and its "
        f"secrets do not go together, a feeder's do much better. {results['homes']} simulated "
        f"homes of {results['mean_watts']:.0f} W; noise is drawn by the law of the mechanism.",
    )


def _asked(task: dict[str, Any]) -> str:
    name = task["name"].partition(":")[0]
    unit = {"%": "% of " if task["limit"] == "at least" else "% ", "cars": "", "points": "points "}
    asks = "cases seen" if task["asks"] == "seen in" else task["asks"]
    return f"{name}: {unit[task['unit']]}{asks}"


Cell = tuple[str, str, str]
"""Text, and colours of the ground and of the text."""


def _told(of: dict[str, Any]) -> list[Cell]:
    return [(_number(100 * one["success"]), *_ground(one)) for one in of.values()]


def _ground(told: dict[str, Any]) -> tuple[str, str]:
    if told["kept"]:
        return GOOD, "white"
    return HALF if told["success"] <= PARTLY else BAD, plot.INK


def _used(of: dict[str, Any]) -> list[Cell]:
    return [_use(one) for one in of.values()]


def _use(one: dict[str, Any]) -> Cell:
    if one["number"] is None:
        return "–", NONE, plot.TRUE
    return _short(one["number"]), *((GOOD, "white") if one["works"] else (BAD, plot.INK))


def _number(number: float) -> str:
    return f"{number:.0f}" if abs(number) >= 10 else f"{number:.2g}"


def _short(number: float) -> str:
    return f"{number:.0f}" if abs(number) >= 10 else f"{round(number, 1) + 0.0:.1f}"


def _cells(panel: Axes, names: Sequence[str], columns: Sequence[list[Cell]]) -> None:
    for x, column in enumerate(columns):
        for y, (text, ground, ink) in enumerate(column):
            panel.add_patch(Rectangle((x - 0.47, y - 0.45), 0.94, 0.9, color=ground, lw=0))
            panel.text(x, y, text, ha="center", va="center", color=ink, fontsize=9)
    panel.set_xlim(-0.5, len(columns) - 0.5)
    panel.set_ylim(len(names) - 0.5, -0.5)
    panel.set_yticks(range(len(names)), [*names], fontsize=9.5)
    panel.set_xticks([])
    panel.grid(visible=False)
    panel.tick_params(length=0)
    for spine in panel.spines.values():
        spine.set_visible(False)


def _heads(panel: Axes, settings: Sequence[dict[str, Any]]) -> None:
    panel.xaxis.tick_top()
    heads = [one["label"].replace("`", "") for one in settings]
    panel.set_xticks(range(len(heads)), heads, rotation=50, ha="left", fontsize=8.5)
    first = next(place for place, one in enumerate(settings) if one["feeder"])
    for axes in panel.figure.axes:
        axes.axvline(first - 0.5, color=plot.INK, lw=1.2, clip_on=False)
