"""Every contest as a point: worked out to the right, tried upwards."""

from collections.abc import Sequence
from typing import Any

from simulations.kit import plot
from simulations.kit.command import Run
from simulations.kit.statistics import Share


def picture(run: Run, tried: Sequence[dict[str, Any]]) -> None:
    """Precondition: the contests of a run, as its JSON holds them."""
    presets = list(dict.fromkeys(one["preset"] for one in tried))
    with plot.axes(1, 2, width=9.4, height=4.4) as (figure, panels):
        for panel, low, high, title in (
            (panels[0], 0.010, 0.025, "Films and evenings, by name"),
            (panels[1], 0.48, 1.01, "With or without, at home or away"),
        ):
            panel.plot([100 * low, 100 * high], [100 * low, 100 * high], color=plot.TRUE, lw=1)
            for preset, colour in zip(presets, plot.CYCLE, strict=False):
                those = [o for o in tried if o["preset"] == preset and low <= o["told"] <= high]
                shares = [Share(one["hits"], one["trials"]) for one in those]
                reach = [
                    [100 * (one.value - one.low) for one in shares],
                    [100 * (one.high - one.value) for one in shares],
                ]
                told = [100 * one["told"] for one in those]
                seen = [100 * one.value for one in shares]
                panel.errorbar(told, seen, reach, fmt="o", ms=4, lw=1, color=colour, label=preset)
            panel.set_xlabel("worked out, %")
            panel.set_title(title)
        panels[0].set_ylabel("right in so many % of trials")
        panels[1].legend(loc="upper left")
    contests, most = len(tried), max(one["trials"] for one in tried)
    run.picture(
        figure,
        "tried",
        "What is worked out is what trials show",
        f"{contests} contests under the presets, of up to {most:,} trials each through the "
        "program itself: how often the best attacker is right, as it is worked out from the law of "
        "the noise, and as it was tried. Whiskers: 95 % confidence for each point alone; all "
        "points together are wrongly rejected once in a thousand times.",
    )
