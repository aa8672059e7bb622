"""Recompute what the source papers print: signatures, capacities, lower bounds, utility.

python -m simulations.papers                  with simulated programmes
python -m simulations.papers --traces DIR     with recordings of real television sets
"""

import sys
from typing import Any

import numpy as np

from simulations.kit.command import Run, main
from simulations.kit.plot import DANGER, INK, RELEASED, TRUE, axes
from simulations.papers import dates, signature, table
from simulations.papers.signature import Recognised


def simulate(run: Run) -> None:
    """All of it."""
    rows = table.rows(quick=run.quick)
    run.results["table"] = [row.document() for row in rows]
    run.results["all_agree"] = all(row.agrees for row in rows)
    for row in rows:
        _print(row)
    _signature(run)
    _dates(run)


def _print(row: table.Row) -> None:
    printed = "–" if row.printed is None else f"{row.printed:.4g}"
    said = "agrees" if row.agrees else "DIFFERS"
    print(f"{row.quantity:48} {printed:>8} {row.recomputed:10.4f}  {said}  {row.remark}")


def _signature(run: Run) -> None:
    contents = signature.chunks(run)
    found = [
        signature.recognised(run, contents, epsilon)
        for epsilon in run.each(signature.EPSILONS, "signatures")
    ]
    run.results["signature"] = {
        "contents": len(contents.watts),
        "source": "recorded" if run.traces else "simulated",
        "seconds": signature.SECONDS,
        "sampled_every": signature.SAMPLED,
        "printed": "not recognisable, especially for ε = .5",
        "measured": [_document(one) for one in found],
    }
    for one in found:
        print(
            f"5 minutes at ε = {one.epsilon}/W: named rightly by correlation "
            f"{one.by_correlation.value:.1%}, by likelihood {one.by_likelihood.value:.1%} "
            f"(chance {one.chance:.2%})"
        )
    _draw_signature(run, found)


def _document(one: Recognised) -> dict[str, Any]:
    return {
        "epsilon_per_watt": one.epsilon,
        "chance": round(one.chance, 6),
        "by_correlation": one.by_correlation.document(),
        "by_likelihood": one.by_likelihood.document(),
    }


def _draw_signature(run: Run, found: list[Recognised]) -> None:
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


def _dates(run: Run) -> None:
    epsilon = 1.0
    pair = dates.settings(epsilon)
    measured = [
        dates.measured_error(setting, run.draw(5, number)) for number, setting in enumerate(pair)
    ]
    run.results["dates"] = {
        "students": dates.STUDENTS,
        "days": dates.DAYS,
        "epsilon": epsilon,
        "printed": None,
        "expected_error_days": {s.name: round(s.scale, 6) for s in pair},
        "measured_error_days": {
            s.name: round(error, 6) for s, error in zip(pair, measured, strict=True)
        },
        "ratio": round(pair[0].scale / pair[1].scale, 3),
    }
    _draw_dates(run, pair)


def _draw_dates(run: Run, pair: tuple[dates.Setting, dates.Setting]) -> None:
    days = np.geomspace(0.005, 200, 200)
    with axes() as (figure, [panel]):
        for setting, colour in zip(pair, (DANGER, RELEASED), strict=True):
            panel.plot(days, 100 * setting.within(days), color=colour, label=setting.name)
            panel.axvline(setting.scale, color=colour, lw=0.8, ls=":")
        panel.set_xscale("log")
        panel.set_xlabel("days by which the published average may be off")
        panel.set_ylabel("share of answers, %")
        panel.set_title("Average registration date under two promises")
        panel.legend(loc="center left")
    run.picture(
        figure,
        "dates",
        "What it costs to hide any date, and what to hide days",
        f"The average registration date of {dates.STUDENTS} students over five years, with Laplace "
        "noise at ε = 1. Red: standard differential privacy, under which anybody's date may be any "
        "other. Blue: dates up to five days apart are as hard to tell apart as there, and those "
        "farther apart less. Dotted: the mean error, "
        f"{pair[0].scale:.1f} days against {pair[1].scale:.2f}. The paper shows curves without "
        "numbers; students and years are ours.",
    )


if __name__ == "__main__":
    sys.exit(main("papers", __doc__, simulate))
