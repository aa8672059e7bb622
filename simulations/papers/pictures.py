"""The papers' figures, drawn again."""

import math
from fractions import Fraction

import numpy as np
from matplotlib.axes import Axes

from simulations.kit.command import Run
from simulations.kit.plot import DANGER, INK, RELEASED, SECOND, THIRD, TRUE, axes
from simulations.papers import dates, regions, signature, tight
from simulations.papers.capacities import Floats
from simulations.papers.signature import Recognised

ODDS = (2, 4)
"""exp(epsilon) of the regions that are drawn."""


def draw_signature(run: Run, found: list[Recognised]) -> None:
    """The first paper's Example 2."""
    shown = signature.drawn(run)
    seconds = range(len(shown.true))
    sampled_at = [signature.SAMPLED * slot for slot in range(len(shown.sampled) + 1)]
    rows = 1 + len(shown.released)
    with axes(rows, height=1.7 * rows + 0.3, sharex=True) as (figure, panels):
        panels[0].plot(seconds, shown.true, color=TRUE, lw=0.9, label="true, every second")
        panels[0].stairs(
            shown.sampled, sampled_at, baseline=None, color=INK, lw=1.4, label="sampled, every 10 s"
        )
        panels[0].set_title("Five minutes of a film at the plug")
        for panel, (epsilon, released) in zip(panels[1:], shown.released.items(), strict=True):
            one = next(one for one in found if one.epsilon == epsilon)
            panel.stairs(
                shown.sampled, sampled_at, baseline=None, color=TRUE, lw=0.9, label="sampled"
            )
            panel.stairs(
                released, sampled_at, baseline=None, color=RELEASED, lw=1.4, label="released"
            )
            panel.set_title(
                f"ε = {epsilon} per watt: named rightly in {one.by_likelihood.value:.0%} of cases"
            )
        for panel in panels:
            panel.set_ylabel("W")
            panel.set_ylim(40, 165)
            panel.legend(loc="lower left", ncols=2)
        panels[-1].set_xlabel("seconds")
    low, high = found[0].by_correlation, found[1].by_correlation
    run.picture(
        figure,
        "signature",
        "The noisy signature of a film, drawn again",
        "Top: the power of a television set (a simulated tube), and its "
        "means of ten seconds. Below: each of these released with noise at the two settings that "
        "the paper draws. It calls the signature unrecognisable “especially for ε = .5”, but .5 is "
        f"less noise than .1: an attacker who correlates shapes names {low.value:.0%} of "
        f"{low.of} five-minute stretches at .5 ({low.low:.0%} to {low.high:.0%} with 95 % "
        f"confidence) and {high.value:.0%} at .1 ({high.low:.0%} to {high.high:.0%}); guessing "
        f"would name {found[0].chance:.1%}. The titles give the attacker who compares likelihoods.",
    )


def draw_dates(run: Run) -> None:
    """The first paper's Figure 3."""
    days = np.geomspace(0.05, 50_000, 200)
    pair = dates.settings(1.0)
    with axes() as (figure, [panel]):
        for setting, colour in zip(pair, (DANGER, RELEASED), strict=True):
            panel.plot(days, 100 * setting.useful(days), color=colour, label=setting.name)
            panel.axvline(setting.within(0.95), color=colour, lw=0.8, ls=":")
        panel.axvline(dates.DAYS, color=TRUE, lw=0.8)
        panel.text(dates.DAYS * 1.1, 4, "the whole range", color=TRUE)
        panel.set_xscale("log")
        panel.set_xlabel("days by which the published date may be off")
        panel.set_ylabel("share of answers, %")
        panel.set_title("The earliest registration date under two promises")
        panel.legend(loc="upper left")
    run.picture(
        figure,
        "dates",
        "What it costs to hide any date, and what to hide days",
        f"The earliest of registration dates within {dates.DAYS:,} days, with Laplace noise at ε = "
        "1. Red: standard differential privacy, under which anybody's date may be any other. Blue: "
        "dates up to five days apart are as hard to tell apart as there, and those farther apart "
        f"less. Dotted: 19 of 20 answers are off by no more than {pair[0].within(0.95):,.0f} days, "
        f"three times the range, and by {pair[1].within(0.95):.0f}.",
    )


def draw_regions(run: Run) -> None:
    """The third paper's Figures 2 and 4."""
    with axes(1, 3, width=9.5, height=3.4) as (figure, panels):
        _region(panels[0], "Answers 0, 1, 2 in a row", tight.line(3))
        _region(panels[1], "Any answer for any other", [[0, 1, 1], [1, 0, 1], [1, 1, 0]])
        _leak(panels[2])
    run.picture(
        figure,
        "regions",
        "Priors for which the tight mechanism is the best, and what a database leaks",
        "Left and middle: all priors on three answers as points of a triangle; the regular ones at "
        "exp(ε) = 2 and 4. Right: bits that five people's database of Example 3 leaks at most; the "
        "formula for one prior (blue) is a bound only where that prior is regular, from ε = ln 2 "
        "(dotted): below it more is possible (red).",
    )


def _region(panel: Axes, title: str, distances: tight.Distances) -> None:
    def places(priors: Floats) -> Floats:
        corners = np.array([[0, 0], [0.5, math.sqrt(3) / 2], [1, 0]])
        found: Floats = np.vstack([priors, priors[:1]]) @ corners
        return found

    panel.plot(*places(np.eye(3)).T, color=TRUE, lw=0.9)
    for odds, colour in zip(ODDS, (RELEASED, SECOND), strict=True):
        phi = tight.constraints(distances, Fraction(1, odds))
        ends = places(np.array(tight.corners(phi), dtype=np.float64))
        panel.fill(*ends.T, color=colour, alpha=0.3 if odds == ODDS[0] else 0.2)
        panel.plot(*ends.T, color=colour, label=f"exp(ε) = {odds}")
    panel.set_title(title)
    panel.set_aspect("equal")
    panel.axis("off")
    panel.legend(loc="upper left", fontsize=7)


def _leak(panel: Axes) -> None:
    found = [regions.leak(float(epsilon)) for epsilon in np.linspace(0.3, 1, 15)]
    epsilons = [one.epsilon for one in found]
    panel.plot(epsilons, [one.any_prior for one in found], color=TRUE, label="any prior")
    panel.plot(epsilons, [one.possible for one in found], color=DANGER, label="possible")
    panel.plot(epsilons, [one.bound for one in found], color=RELEASED, label="formula")
    panel.axvline(regions.regular_from(regions.PRIOR), color=INK, lw=0.8, ls=":")
    panel.set_xlabel("ε")
    panel.set_title("Example 3: bits")
    panel.legend(loc="upper left", fontsize=7)


def draw_study(run: Run) -> None:
    """The third paper's Figures 5 and 6."""
    studies = (
        (regions.total(30), regions.counts(8)) if run.quick else (regions.total(), regions.counts())
    )
    epsilons = np.linspace(0.4, 2.0, 17)
    with axes(1, 2, width=8.5) as (figure, panels):
        for panel, study in zip(panels, studies, strict=True):
            panel.plot(
                epsilons,
                [study.utility(float(epsilon)) for epsilon in epsilons],
                color=RELEASED,
                marker=".",
                label="tight constraints, where it exists",
            )
            panel.plot(
                epsilons,
                [study.geometric(float(epsilon)) for epsilon in epsilons],
                color=THIRD,
                label="geometric noise",
            )
            panel.set_title(study.name[0].upper() + study.name[1:])
            panel.set_xlabel("ε")
            panel.set_ylim(0)
            panel.legend(loc="upper left", fontsize=7)
        panels[0].set_ylabel("named rightly")
    run.picture(
        figure,
        "study",
        "How often an answer is named rightly, with the same promise per person",
        "A uniform prior. One person moves the sum by four at once, and both counts: there the "
        "tight mechanism serves better than geometric noise, but only from some ε on. On a line of "
        "which one person moves one step the two are the same.",
    )
