"""Errors side by side."""

from typing import Any

import numpy as np

from simulations.kit import plot
from simulations.kit.command import Run

STEPS = (
    ("independent", "drawn", "a draw for each"),
    ("independent", "in_order", "a draw for each, in order"),
    ("joint", "drawn", "one draw for all"),
    ("joint", "in_order", "one draw for all, in order"),
)


def errors(run: Run, found: dict[str, Any]) -> None:
    """A bar for each way to release the same answers at the same price."""
    labels = [
        f"home {number}\n{words.replace(', ', chr(10))}"
        for number, its in enumerate(found.values(), start=1)
        for words in its
    ]
    with plot.axes(width=9.0, height=3.8) as (figure, (panel,)):
        places = np.arange(len(labels))
        colours = (plot.DANGER, plot.SECOND, plot.THIRD, plot.RELEASED)
        for number, ((noise, which, words), colour) in enumerate(zip(STEPS, colours, strict=True)):
            every = [told[noise] for its in found.values() for told in its.values()]
            watts = [one[which] for one in every]
            reach = [
                [abs(one["between"][which][end] - one[which]) for one in every] for end in (0, 1)
            ]
            panel.bar(
                places + 0.2 * number - 0.3,
                watts,
                0.18,
                yerr=reach,
                color=colour,
                ecolor=plot.INK,
                label=words,
            )
        panel.set_yscale("log")
        panel.set_xticks(places, labels, fontsize=7)
        panel.set_ylabel("mean error, W")
        figure.legend(fontsize=8, loc="outside lower center", ncols=4)
    run.picture(
        figure,
        "errors",
        "The same privacy, with less error",
        "Several answers for each window, all at the same total loss: with a draw for each or one "
        "for all of them, as it was drawn and after the answers agree with their order (the "
        f"minimum is no more than the median, and so on). Homes: {', '.join(found)}. Whiskers: "
        "95 % bootstrap intervals over windows. What is on for less than half of a window is "
        "hidden less well by one draw for all: the price of its smaller error.",
    )
