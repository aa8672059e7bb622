"""The picture of `simulations.feeder`."""

from collections.abc import Mapping
from textwrap import fill
from typing import Any

from simulations.kit import plot
from simulations.kit.command import Run


def errors(run: Run, found: Mapping[str, Any]) -> None:
    """The error of a quarter hour by the number of homes, for both ways and every promise."""
    with plot.axes(1, len(found), width=9.4, height=3.8) as (figure, panels):
        for panel, (words, sizes) in zip(panels, found.items(), strict=True):
            for way, label, colour in (
                ("homes", "sum of homes' releases", plot.DANGER),
                ("standard", "one draw, ordinary differential privacy", plot.TRUE),
                ("group", "one draw, this promise", plot.RELEASED),
            ):
                off = [100 * one["quarter_hour"][way]["mean_off"] for one in sizes.values()]
                panel.plot([*map(int, sizes)], off, "o-", color=colour, label=label)
            panel.set_xscale("log")
            panel.set_yscale("log")
            panel.set_xlabel("homes")
            panel.set_ylabel("error of a quarter hour, % of the load")
            panel.set_title(words)
            panel.legend(loc="lower left", fontsize=8)
            panel.set_ylim(bottom=panel.get_ylim()[0] / 12)
    run.picture(
        figure,
        "errors",
        "One draw for a feeder",
        "How far the load of a quarter hour is from the truth, by the number of homes, at the same "
        "promise to each of them: added up from homes' own releases, and released of the group. "
        "Grey: one draw at the same epsilon for all that a home can draw, from nothing to 24 kW: "
        "ordinary differential privacy for a home.",
    )


def uses(run: Run, found: Mapping[str, Any]) -> None:
    """Each use in a panel of its own, by both ways and without noise, for every promise."""
    names = [*next(iter(found.values()))]
    ways = {"homes": plot.DANGER, "group": plot.RELEASED, "exact": plot.TRUE}
    with plot.axes(len(found), len(names), width=11.6, height=4.6) as (figure, panels):
        every = iter(panels)
        for words, tasks in found.items():
            for name, its in tasks.items():
                panel = next(every)
                if name == names[0]:
                    panel.set_ylabel(fill(words, 20))
                for place, (way, colour) in enumerate(ways.items()):
                    one = its[way]
                    panel.bar(place, one["mean"], color=colour, width=0.7)
                    text = f"{round(one['mean'], 2) + 0.0:.3g}"
                    panel.annotate(text, (place, one["mean"]), ha="center", va="bottom")
                panel.set_xticks(range(len(ways)), ["homes", "group", "exact"])
                panel.margins(y=0.18)
                panel.set_title(f"{name}:\n{its['asks']}, {its['unit']}", fontsize=7.5)
                panel.grid(visible=False)
    run.picture(
        figure,
        "uses",
        "What a feeder's sum is good for",
        "From a month of quarter hours of 200 homes (of 40 for cars, and a day of 40 for panels): "
        "added up from homes' own releases, released of the group in one draw at the same promise "
        "to each home, and without noise. Noise is of the mechanism's own law.",
    )
