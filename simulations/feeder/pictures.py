"""The picture of `simulations.feeder`."""

from collections.abc import Mapping
from typing import Any

from simulations.kit import plot
from simulations.kit.command import Run


def errors(run: Run, found: Mapping[str, Any]) -> None:
    """The error of a quarter hour by the number of homes, for both ways and every promise."""
    with plot.axes(1, len(found), width=9.4, height=3.8) as (figure, panels):
        for panel, (words, sizes) in zip(panels, found.items(), strict=True):
            for way, label, colour in (
                ("homes", "sum of homes' releases", plot.DANGER),
                ("group", "release of the group", plot.RELEASED),
            ):
                off = [100 * one["quarter_hour"][way]["mean_off"] for one in sizes.values()]
                panel.plot([*map(int, sizes)], off, "o-", color=colour, label=label)
            panel.set_xscale("log")
            panel.set_yscale("log")
            panel.set_xlabel("homes")
            panel.set_ylabel("error of a quarter hour, % of the load")
            panel.set_title(words)
            panel.legend()
    run.picture(
        figure,
        "errors",
        "One draw for a feeder",
        "How far the load of a quarter hour is from the truth, by the number of homes, at the same "
        "promise to each of them: added up from homes' own releases, and released of the group.",
    )
