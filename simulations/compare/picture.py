"""Two pictures: frontiers; and one promise by other means."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes

from simulations.compare.central import SIZES, Way
from simulations.compare.frontier import FEW, Frontier
from simulations.compare.rivals import Task
from simulations.kit.command import Run
from simulations.kit.plot import CYCLE, DANGER, INK, RELEASED, SECOND, TRUE, axes

_MARKS = ("o", "x", "^", "s", "D", "v")
_LEAST = 0.5
"""Watts below which all errors are drawn at one place: some ways are off by nothing."""


def draw_frontiers(run: Run, found: dict[str, tuple[Task, list[Frontier]]]) -> None:
    """A panel for each length of content."""
    with axes(1, len(found), width=4.6 * len(found), height=4.4) as (figure, panels):
        for panel, (name, (of, frontiers)) in zip(panels, found.items(), strict=True):
            for one, colour, mark in zip(frontiers, CYCLE, _MARKS, strict=False):
                errors = [max(point.error, _LEAST) for point in one.points]
                shares = [100 * point.success.value for point in one.points]
                lows = [100 * point.success.low for point in one.points]
                highs = [100 * point.success.high for point in one.points]
                panel.fill_between(errors, lows, highs, color=colour, alpha=0.12, lw=0)
                panel.plot(
                    errors, shares, color=colour, marker=mark, ms=4, lw=1, label=one.rival.label
                )
            panel.axhline(100 * of.chance, color=TRUE, lw=1, ls="--")
            panel.annotate(
                "guessing",
                (0.02, 100 * of.chance),
                xycoords=("axes fraction", "data"),
                xytext=(0, 3),
                textcoords="offset points",
                color=TRUE,
            )
            panel.set_xscale("log")
            panel.set_xlabel("mean error of a 15-minute average, W")
            panel.set_title(name.capitalize())
        panels[0].set_ylabel("content named rightly, %")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3)
    of, frontiers = [*found.values()][-1]
    few = {f.rival.name: f.error_at(FEW) for f in frontiers}
    run.picture(
        figure,
        "frontier",
        "What hides a programme, and what it costs the reader",
        f"An attacker who holds the exact power trace of {len(of.contents)} channels, and knows "
        "everything else in the home, sees what is published of one of them at six in the evening. "
        "Upwards: how often he names the right one "
        f"(bands: 95 % confidence, {len(of.homes):,} trials each); to the right: how far a "
        "published quarter-hour average of the home is off on average. "
        f"Of {[*found][-1]} he still names {FEW:.0%} at {_watts(few['agent'])} with meteragent, "
        f"{_watts(few['laplace'])} with Laplace noise on the average (noise of nearly the same "
        "shape: it hides as much; what differs is what can be promised, in the next picture), and "
        f"{_watts(few['readings'])} with noise on every reading, of which he sees more than its "
        "average. Ways without noise promise nothing: rounding hides what the home's load "
        "happens to round away, longer averages and a smoothing battery blur the home more than "
        "the programme.",
    )


def draw_promise(run: Run, stated: Sequence[Way], spending: dict[str, Any]) -> None:
    """One promise by every way, by the number of homes; and spending that follows readings."""
    with axes(1, 2, width=9.4, height=4.6) as (figure, [panel, bars]):
        for way, colour in zip(stated, (*CYCLE[:4], *CYCLE[:4]), strict=True):
            errors = [100 * way.error(homes) for homes in SIZES]
            panel.plot(SIZES, errors, "-o" if way.central else ":x", color=colour, label=way.name)
        panel.axhline(100, color=TRUE, lw=1, ls="--")
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_xlabel("homes")
        panel.set_ylabel("error of a quarter hour, % of the load")
        panel.set_title("One promise for a day")
        _spending(bars, spending["errors"])
        handles, labels = panel.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=8)
    run.picture(
        figure,
        "promise",
        "One promise, by other means",
        "Left: each home is promised a loss of 1 for all quarter hours of a day; dotted, each adds "
        "noise of its own, and with a line, there is one draw for the sum. Above 100 % a release "
        "says less than knowing the usual load. Standard differential privacy hides whatever a "
        "home draws, up to 24 kW; d∞ hides what differs by up to a radius in every reading. Right: "
        f"the mean error of a quarter hour of {spending['homes']} single homes, of 25 W a day "
        "(whiskers: 95 % bootstrap intervals over homes; Laplace noise, by numpy). Spending that "
        "follows the readings (BD, BA) is no match for one longer window.",
    )


def _spending(panel: Axes, errors: dict[str, dict[str, Any]]) -> None:
    names = ("even split", "BD", "BA", "one longer window", "nothing: their mean")
    means = [errors["25"][name] for name in names]
    heights = [one["mean"] for one in means]
    reach = [[abs(one["mean"] - one[end]) for one in means] for end in ("low", "high")]
    colours = [TRUE, DANGER, SECOND, RELEASED, CYCLE[4]]
    drawn = panel.bar(range(len(names)), heights, yerr=reach, color=colours, ecolor=INK)
    panel.bar_label(drawn, [f"{height:,.0f}" for height in heights], padding=2, fontsize=8)
    panel.set_xticks(range(len(names)), [name.replace(" ", "\n") for name in names], fontsize=8)
    panel.set_ylabel("mean error of a quarter hour, W")
    panel.set_title("Spending that follows readings")
    panel.set_axisbelow(b=True)
    panel.grid(visible=False, axis="x")


def _watts(watts: float | None) -> str:
    kilo = 1000
    if watts is None:
        return "no setting"
    return f"{watts:.0f} W" if watts < kilo else f"{watts / kilo:,.0f} kW"
