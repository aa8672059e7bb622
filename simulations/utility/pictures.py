"""The pictures of `simulations.utility`."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from simulations.kit import plot
from simulations.kit.command import Run
from simulations.kit.statistics import Floats


def months(run: Run, found: Mapping[str, Any]) -> None:
    """Month totals by setting, from `value` and from `unbiased`, home by home."""
    names = list(found)
    with plot.axes(1, 2, width=9.4, height=4.6) as (figure, panels):
        for panel, name, colour in zip(
            panels, ("unbiased", "value"), (plot.RELEASED, plot.DANGER), strict=True
        ):
            panel.axvspan(-1, 1, color=plot.THIRD, alpha=0.2, lw=0)
            for row, words in enumerate(names):
                off = 100 * np.array(found[words]["month_by_home"][name])
                panel.plot(off, np.full(len(off), -row), "|", color=colour, ms=9, alpha=0.7)
                panel.plot([off.mean()], [-row], "o", color=plot.INK, ms=4)
            panel.set_xscale("symlog", linthresh=1)
            panel.set_xticks([-100, -10, -1, 0, 1, 10, 100, 1000])
            panel.set_xticklabels(["-100", "-10", "-1", "0", "1", "10", "100", "1000"])
            panel.set_yticks([-row for row in range(len(names))])
            panel.set_yticklabels(names if name == "unbiased" else [])
            panel.set_xlabel("error of the month's total, %")
            panel.set_title(f"from {name}")
    run.picture(
        figure,
        "months",
        "Month totals, from `unbiased` and from `value`",
        "How far the total of four weeks, added up from releases, is from the truth: one stroke "
        "for each home, a dot for their mean; green: within 1 %. `unbiased` is right on average; "
        "`value`, the best single reading, is too high wherever loads lie near the end of the "
        "range, and that does not average out.",
    )


def duration(run: Run, curves: Mapping[str, tuple[Floats, Floats, Floats]]) -> None:
    """Load duration: how much of the time a load is exceeded."""
    with plot.axes(1, len(curves), width=9.4, height=3.4) as (figure, panels):
        for panel, (words, (truth, value, unbiased)) in zip(panels, curves.items(), strict=True):
            for watts, colour, label in (
                (truth, plot.TRUE, "true"),
                (value, plot.DANGER, "from value"),
                (unbiased, plot.RELEASED, "from unbiased"),
            ):
                share = np.linspace(0, 100, len(watts))
                panel.plot(share, np.sort(watts)[::-1] / 1000, color=colour, label=label)
            panel.set_title(words)
            panel.set_xlabel("% of the time")
        panels[0].set_ylabel("exceeded load, kW")
        panels[0].legend()
    run.picture(
        figure,
        "duration",
        "Load duration curves",
        "The load that is exceeded for a given share of four weeks, from averages of 15 minutes "
        "with a typical noise of 100 W: for one home, and for the mean of all simulated homes. "
        "Noise spreads the curve of one home; over many it vanishes from `unbiased`.",
    )


def feeders(run: Run, found: Mapping[str, Any]) -> None:
    """The error of a feeder's load against the number of homes."""
    with plot.axes(width=7.5, height=3.8) as (figure, (panel,)):
        for words, both in found.items():
            colour = None
            for name, style in (("unbiased", "-"), ("value", ":")):
                sizes = [int(size) for size in both[name]]
                mean, low, high = (
                    [100 * one[part] for one in both[name].values()]
                    for part in ("mean_off", "low", "high")
                )
                label = words if name == "unbiased" else None
                (line,) = panel.plot(sizes, mean, style, marker=".", color=colour, label=label)
                colour = line.get_color()
                panel.fill_between(sizes, low, high, color=colour, alpha=0.15, lw=0)
        panel.axhline(1, color=plot.INK, lw=0.8, ls="--")
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_xlabel("homes on the feeder")
        panel.set_ylabel("mean error, % of the mean load")
        panel.set_title("A feeder's load from its homes' releases")
        panel.set_xticks(sizes, [f"{size:,}" for size in sizes])
        figure.legend(fontsize=8, loc="outside lower center", ncols=5)
    run.picture(
        figure,
        "feeders",
        "A feeder's load, from sums over homes",
        "The error of the sum of all homes' releases in one window, against the true load. Solid: "
        "from `unbiased`, which falls with the root of the number of homes; dotted: from `value`, "
        "whose bias stays. Bands: 95 % bootstrap intervals; dashed: 1 %. The homes are those of a "
        "street on 28 days; feeders of more than these hold some twice, with independent noise.",
    )


def forecasts(run: Run, found: Mapping[str, Any]) -> None:
    """The error of tomorrow's hours."""
    scopes = list(next(iter(found.values())))
    models = ("trained on the truth", "trained on releases", "the usual day")
    with plot.axes(1, len(scopes), width=9.4, height=3.4) as (figure, panels):
        for panel, scope in zip(panels, scopes, strict=True):
            for shift, (model, colour) in enumerate(
                zip(models, (plot.TRUE, plot.RELEASED, plot.SECOND), strict=True)
            ):
                ones = [by_scope[scope][model] for by_scope in found.values()]
                mean = [one["mean_off_watts"] for one in ones]
                reach = [
                    [one["mean_off_watts"] - one["low"] for one in ones],
                    [one["high"] - one["mean_off_watts"] for one in ones],
                ]
                places = np.arange(len(ones)) + 0.26 * (shift - 1)
                panel.bar(
                    places, mean, 0.25, yerr=reach, color=colour, label=model, ecolor=plot.INK
                )
            panel.set_xticks(range(len(found)), [w.replace(", ", "\n") for w in found])
            panel.set_title(f"Tomorrow's hours, {scope}")
            panel.set_ylim(0, None)
        panels[0].set_ylabel("mean error, W a home")
        panels[0].legend(fontsize=8)
    run.picture(
        figure,
        "forecasts",
        "Forecasts by a model that was trained on releases",
        "Ridge regression on the loads of a day, two days and a week before, and the hour of the "
        "day; judged on the last week against the true load. Grey: trained on and fed with the "
        "truth; blue: with releases; orange: the mean of each hour of the day, of exact data. "
        "Whiskers: 95 % bootstrap intervals over days. Where the usual day is as near as the model "
        "that knows the truth, there is little to learn from yesterday, and little for noise to "
        "spoil.",
    )
