"""Two pictures: frontiers, and the price of a promise."""

from collections.abc import Callable  # noqa: TC003

from simulations.compare.frontier import FEW, Frontier
from simulations.compare.promises import TYPICAL, Promise
from simulations.compare.rivals import Task
from simulations.kit.command import Run
from simulations.kit.plot import CYCLE, DANGER, RELEASED, SECOND, TRUE, axes

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


def draw_promises(run: Run, stated: list[Promise]) -> None:
    """Bars for each preset."""
    ways: tuple[tuple[str, str, Callable[[Promise], float]], ...] = (
        ("meteragent, all readings of a window", RELEASED, lambda p: p.agent),
        ("standard DP on the sum, all readings", DANGER, lambda p: p.on_the_sum),
        ("standard DP per reading, all readings", SECOND, lambda p: p.per_reading),
        ("standard DP, one reading only", TRUE, lambda p: p.one_reading_only),
    )
    with axes(height=3.4) as (figure, [panel]):
        for number, (label, colour, error) in enumerate(ways):
            places = [place + 0.2 * (number - 1.5) for place in range(len(stated))]
            heights = [error(promise) for promise in stated]
            bars = panel.bar(places, heights, width=0.18, color=colour, label=label)
            panel.bar_label(bars, [_watts(height) for height in heights], fontsize=7, padding=2)
        panel.set_yscale("log")
        panel.set_ylim(top=3e8)
        panel.set_xticks(range(len(stated)), [promise.preset for promise in stated])
        panel.set_ylabel("expected error of one answer, W")
        panel.set_title("The price of one promise")
        panel.set_axisbelow(b=True)
        panel.grid(visible=False, axis="x")
        panel.legend(loc="upper left", ncols=2)
    run.picture(
        figure,
        "promises",
        "What standard differential privacy needs for the presets' promises",
        "Expected error of one released average at each preset. Blue: the product. Red and orange: "
        "standard differential privacy, whose noise must assume that a reading may be any other "
        "within the range, for the same odds between two windows that differ in every reading "
        f"(answers on the sum cut off at the range, around {TYPICAL:g} W). Grey: its usual "
        "calibration, which hides one single reading of the window and promises next to nothing "
        "about a programme, a load or a day.",
    )


def _watts(watts: float | None) -> str:
    kilo = 1000
    if watts is None:
        return "no setting"
    return f"{watts:.0f} W" if watts < kilo else f"{watts / kilo:,.0f} kW"
