"""`python -m simulations.practice`: what is done today, attacked.

Sums over homes are published today if there are enough homes in them, or rounded. An attacker
takes a sum without a home from one with it, and compares that with noise under a promise.
"""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from simulations.home import street as homes
from simulations.kit import plot
from simulations.kit.command import Run, main
from simulations.kit.statistics import Floats, bootstrap
from simulations.practice.attack import DAY, Learned, Street, by_noise, by_rule, moved_in
from simulations.practice.page import page
from simulations.practice.rules import RULES, Noisy

NOISES = (Noisy(1000), Noisy(5000), Noisy(20_000), Noisy(48_000))
SIZES = (16, 101, 1000)
GROUPS = (6, 16, 101)
BELOW = 1e-3
"""Percent of error that a logarithmic axis shows as none."""


def simulate(run: Run) -> None:
    """Every rule and every noise against the same attacker."""
    street = lived(run)
    rows = [
        _row(rule.name, rule.meaning, rule.smallest, by_rule(rule, rule.smallest, street), run)
        for rule in run.each(RULES, "rules of today")
    ]
    rows += [
        _row(noisy.name, "the sum with noise", size, _noise(noisy, n, size, street, run), run)
        for n, noisy in enumerate(run.each(NOISES, "noise"))
        for size in SIZES
    ]
    run.results = {
        "homes": len(street.lived),
        "days": homes.DAYS,
        "mean_watts": round(float(street.lived.mean()), 1),
        "rows": rows,
        "moved_in": {str(size): round(moved_in(street, size), 4) for size in GROUPS},
    }
    picture(run, street, rows)
    (run.out / "practice.md").write_text(page(run.command, run.results), encoding="utf-8")


def lived(run: Run) -> Street:
    """The homes of all pages: as they were, and with nobody in."""
    every = run.each(homes.street(run), "homes with nobody in")
    empty = [homes.quarters(home, away=range(homes.DAYS)) for home in every]
    return Street(homes.lived(run), np.array(empty))


def _noise(noisy: Noisy, place: int, size: int, street: Street, run: Run) -> Learned:
    return by_noise(noisy, size, street, run.draw(size, place))


def _row(name: str, meaning: str, size: int, told: Learned, run: Run) -> dict[str, Any]:
    each = {"half_hours": told.half_hours, "week": told.week, "away": told.away}
    means = {key: _mean(one, run) for key, one in (each | {"error": told.error}).items()}
    published = round(told.published, 4)
    return {"name": name, "meaning": meaning, "homes": size, "published": published, **means}


def _mean(each: Floats, run: Run) -> dict[str, float] | None:
    """Over homes or groups, and between what it lies; nothing, where none is published."""
    if np.isinf(each).any():
        return None
    low, high = bootstrap(each, lambda some: float(some.mean()), run.draw(92))
    return {"mean": round(float(each.mean()), 4), "low": round(low, 4), "high": round(high, 4)}


def picture(run: Run, street: Street, rows: list[dict[str, Any]]) -> None:
    """One home's day, as the difference shows it; and what protection costs."""
    with plot.axes(1, 2, width=9.4, height=3.6) as (figure, panels):
        _a_day(run, street, panels[0])
        _costs(panels[1], rows)
        run.picture(
            figure,
            "differencing",
            "One sum less another is a home",
            "Left: a day of one home, every quarter of an hour (grey), and what the difference of "
            "two published sums shows of it: with exact sums all of it, however many homes are in "
            "them (red), with noise next to nothing of its quarter hours (blue). Right: how often "
            "the best attacker is right who says whether anybody was in on a day, against the "
            "error of the group's quarter hours. Many homes make noise a smaller share of their "
            "sum, and hide nothing by themselves. Noise is drawn by the law of the mechanism.",
        )


def _a_day(run: Run, street: Street, panel: Axes) -> None:
    home = int(np.argsort(street.lived.mean(axis=1))[len(street.lived) // 2])
    hours = np.arange(DAY) / 4
    day = street.lived[home, :DAY]
    noisy = NOISES[0]
    seen = day + noisy.noise((DAY,), run.draw(90)) - noisy.noise((DAY,), run.draw(91))
    panel.plot(hours, seen / 1000, color=plot.RELEASED, lw=0.7, label=noisy.name)
    panel.plot(hours, day / 1000, color=plot.TRUE, lw=3, alpha=0.4, label="the home")
    panel.plot(hours, day / 1000, color=plot.DANGER, lw=1, ls="--", label="exact sums")
    panel.set_xlabel("hour of the day")
    panel.set_ylabel("kW")
    panel.set_xticks(range(0, 25, 6))
    panel.legend(fontsize=8)


def _costs(panel: Axes, rows: list[dict[str, Any]]) -> None:
    for row in rows:
        noise = row["name"].startswith("noise")
        marker = {6: "o", 16: "s", 101: "^", 1000: "D"}[row["homes"]]
        colour = plot.RELEASED if noise else plot.DANGER
        error = max(100 * row["error"]["mean"], BELOW)
        panel.plot(error, 100 * row["away"]["mean"], marker, color=colour, alpha=0.8)
    for marker, words in (("o", "6 homes"), ("s", "16"), ("^", "101"), ("D", "1,000")):
        panel.plot([], [], marker, color=plot.TRUE, label=words)
    panel.axhline(50, color=plot.INK, lw=0.8, ls=":")
    panel.set_xscale("log")
    panel.set_xlabel("error of the group's quarter hour (%; left edge: none)")
    panel.set_ylabel("right about a day away (%)")
    panel.legend(fontsize=8)


if __name__ == "__main__":
    raise SystemExit(main("practice", __doc__, simulate))
