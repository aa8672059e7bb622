"""The pictures of `simulations.home`."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from simulations.home.house import Life
from simulations.home.steps import SEEN
from simulations.home.weighing import ABSENCES
from simulations.kit import plot
from simulations.kit.command import Run
from simulations.kit.product import Released
from simulations.kit.traces import DAY, Watts

LINES = ("kettle", "fridge", "tv", "washer", "oven", "dryer", "ev", *ABSENCES)
WORDS = {
    "fridge": "fridge, one round",
    "tv": "TV, one evening",
    "heat_pump": "heat pump",
    "ev": "car, one charge",
    "1 day away": "nobody in for 1 day",
    "7 days away": "nobody in for 7 days",
}


def a_day(run: Run, life: Life, views: Sequence[tuple[str, int, Released]], day: int) -> None:
    """One day of one home: what its meter measures, and what is released."""
    hours = np.arange(DAY // life.interval) * life.interval / 3_600_000
    truth = life.trace().watts[day * len(hours) : (day + 1) * len(hours)]
    minutes = life.presence.someone.reshape(life.days, -1)[day]
    with plot.axes(len(views) + 1, width=7.5, height=6.4, sharex=True) as (figure, panels):
        top = panels[0]
        top.plot(hours, truth / 1000, color=plot.TRUE, lw=0.8, rasterized=True)
        top.set_title("What the meter measures every 10 s (shaded: somebody is at home)")
        for panel, (words, window, one) in zip(panels[1:], views, strict=True):
            per_day = DAY // window
            seen = one.values[day * per_day : (day + 1) * per_day, 0] / 1000
            edges = np.arange(per_day + 1) * window / 3_600_000
            panel.stairs(_means(truth, per_day) / 1000, edges, color=plot.TRUE, lw=0.8)
            panel.stairs(seen, edges, color=plot.RELEASED, lw=1.0)
            panel.set_title(words)
        for panel in panels:
            for begin, end in _spans(minutes):
                panel.axvspan(begin / 60, end / 60, color=plot.GRID, lw=0, zorder=0)
            panel.set_ylabel("kW")
            panel.set_axisbelow(True)
            panel.set_xlim(0, 24)
        panels[-1].set_xlabel("hour of the day")
        panels[-1].set_xticks(range(0, 25, 3))
    run.picture(
        figure,
        "day",
        "A day at home, and what is released of it",
        "One day of a simulated home (a working day of two people). Top: the mean power of every "
        "10 s: kettles, a washing machine and the fridge can be told by eye. Below, in blue, what "
        "the product releases, over the true average in grey; the noise is the same in watts for "
        "every load, so that large and long loads stand out of it and short ones do not.",
    )


def _means(truth: Watts, parts: int) -> Watts:
    mean: Watts = truth.reshape(parts, -1).mean(axis=1)
    return mean


def _spans(minutes: Any) -> list[tuple[int, int]]:  # noqa: ANN401 - a mask
    change = np.flatnonzero(np.diff(np.concatenate([[0], minutes.astype(int), [0]])))
    return list(zip(change[::2].tolist(), change[1::2].tolist(), strict=True))


def steps(run: Run, found: Mapping[str, Any]) -> None:
    """F1 of step detection: appliances by releases."""
    releases = list(found)
    table = np.array([[found[words][name]["f1"] for words in releases] for name in SEEN])
    luck = max(found[words]["heat_pump"]["chance_f1"] for words in releases)
    with plot.axes(width=7.5, height=3.9) as (figure, (panel,)):
        panel.imshow(table, cmap="Blues", vmin=0, vmax=1, aspect="auto")
        for row, name in enumerate(SEEN):
            for column, words in enumerate(releases):
                one = found[words][name]
                above = one["low"] > one["chance_f1"]
                panel.text(
                    column,
                    row,
                    f"{one['f1']:.2f}" + ("" if above else " ○"),
                    ha="center",
                    va="center",
                    color="white" if one["f1"] > 0.55 else plot.INK,
                )
        panel.set_xticks(range(len(releases)), [w.replace(", ", "\n") for w in releases])
        panel.set_yticks(range(len(SEEN)), [n.replace("_", " ") for n in SEEN])
        panel.grid(visible=False)
        panel.set_title("Uses found by step detection (F1; 1 = all, and no false ones)")
    run.picture(
        figure,
        "steps",
        "Step detection, and what averages and noise leave of it",
        "How well an attacker finds single uses of each appliance by the edges of the total power "
        "(Hart's method, tuned to its best on days whose truth is known, scored on others). "
        "Columns: how long the released averages are, and the typical noise of each. F1 is the "
        "harmonic mean of precision and recall. A circle: no better than the same detections "
        "compared with another day's uses (95 % bootstrap interval over days). Noise of 100 W in "
        "each 10 s hides a fridge and leaves most kettles. A heat pump runs so often that in "
        f"averages of 15 minutes luck alone finds its uses with an F1 of {luck:.2f}.",
    )


def frontier(run: Run, found: Sequence[Mapping[str, Any]]) -> None:
    """What the strongest attacker gets, against the noise, for each length of window."""
    windows = sorted({point["window_minutes"] for point in found})
    with plot.axes(1, len(windows), width=8.6, height=3.7) as (figure, panels):
        for panel, window in zip(panels, windows, strict=True):
            points = [p for p in found if p["window_minutes"] == window]
            for name in LINES:
                _line(panel, points, name)
            panel.axhline(0.5, color=plot.INK, lw=0.8, ls=":")
            panel.set_xscale("log")
            panel.set_xticks([10, 100, 1000], ["10", "100", "1k"])
            panel.set_ylim(0.42, 1.02)
            panel.set_xlabel("typical noise of one release, W")
            panel.set_title({15: "15 min", 60: "1 h", 1440: "24 h"}[window] + " averages")
        panels[0].set_ylabel("attacker is right")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=5, fontsize=8)
    run.picture(
        figure,
        "frontier",
        "What can be hidden, and at what error",
        "An attacker who knows every other reading of the home exactly, and how the noise is "
        "made, says whether one use (or one absence) happened: how often that is right, against "
        "the noise on each release, worked out from its law. Dotted: guessing, 50 %. Small loads "
        "vanish in long averages at little noise; a car's charge and an empty house do not: "
        "their energy is what the bill is about.",
    )


def _line(panel: Axes, points: Sequence[Mapping[str, Any]], name: str) -> None:
    noise = [point["noise_watts"] for point in points]
    success = [point["success"][name]["success"] for point in points]
    style = "--" if name in ABSENCES else "-"
    panel.plot(noise, success, style, marker=".", label=WORDS.get(name, name))


def presence(run: Run, found: Mapping[str, Any]) -> None:
    """Areas under the curve against the noise."""
    asked = (("presence", "Somebody is in"), ("away", "Away all day"), ("charging", "Car charged"))
    with plot.axes(1, 3, width=9.4, height=3.6) as (figure, panels):
        for panel, (what, title) in zip(panels, asked, strict=True):
            for window, colour in ((15, plot.RELEASED), (60, plot.DANGER)):
                points = [p for p in found.values() if p["window_minutes"] == window]
                for attacker, style in (("naive_auc", "--"), ("knowing_auc", "-")):
                    if attacker in points[0][what]:
                        _area(panel, points, (what, attacker), style, colour)
            panel.axhline(0.5, color=plot.INK, lw=0.8, ls=":")
            panel.set_xscale("symlog", linthresh=10)
            panel.set_xticks([0, 10, 100, 1000, 10_000], ["none", "10", "100", "1k", "10k"])
            panel.set_xlim(-2, 13_000)
            panel.set_ylim(0.4, 1.02)
            panel.set_xlabel("typical noise of one release, W")
            panel.set_title(title)
        panels[0].set_ylabel("area under the ROC curve")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8)
    run.picture(
        figure,
        "presence",
        "Who is at home: attackers who know the habits, and who do not",
        "How well releases rank hours with somebody at home above hours without (left), days "
        "with nobody at all (middle), and days with a car's charge (right): 1 is perfect, 0.5 is "
        "guessing (dotted). Dashed: much and varying power is taken for people. Solid: exact "
        "likelihoods of the releases under the home's own habits, learned from four earlier "
        "weeks. Bands: 95 % bootstrap intervals over homes.",
    )


def _area(
    panel: Axes, points: Sequence[Mapping[str, Any]], key: tuple[str, str], style: str, colour: str
) -> None:
    what, attacker = key
    noise = [p["noise_watts"] for p in points]
    mean, low, high = (
        [p[what][attacker][part] for p in points] for part in ("mean", "low", "high")
    )
    who = "knows habits" if attacker == "knowing_auc" else "naive"
    minutes = "1 h" if points[0]["window_minutes"] == 60 else "15 min"
    panel.plot(noise, mean, style, color=colour, marker=".", label=f"{minutes}, {who}")
    panel.fill_between(noise, low, high, color=colour, alpha=0.1, lw=0)
