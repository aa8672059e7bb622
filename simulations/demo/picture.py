"""The picture at the end: what the meter reads, what is published, and what each gives away."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from simulations.demo.findings import Findings, rate
from simulations.demo.replay import Published
from simulations.demo.street import FILM_BEGINS, FILM_SLOTS, FILMS, SLOTS
from simulations.kit import plot

_MOSAIC: list[Any] = [["read", "film read"], ["published", "film published"], ["street", "street"]]
_EVENING = (19.25, 23.25)
_PER_HOUR = SLOTS / 24
_ADDED_UP: Any = {"color": plot.SECOND, "lw": 1.2}
_FILM = (FILM_BEGINS / _PER_HOUR, (FILM_BEGINS + FILM_SLOTS) / _PER_HOUR)


def draw(published: Published, found: Findings, path: Path) -> None:
    """Write it, and beside it, as JSON, what a caption may say."""
    home = _calmest(published)
    with plot.axes(width=9.6, height=7.4) as (figure, _):
        figure.clear()
        panels = figure.subplot_mosaic(_MOSAIC, width_ratios=[1.9, 1], height_ratios=[1, 1, 0.8])
        for panel in panels.values():
            panel.set_axisbelow(True)
        _read(panels["read"], published, home)
        _released(panels["published"], published, home)
        _attacked(panels["film read"], found, found.by_readings, published, home)
        _attacked(panels["film published"], found, found.by_releases, published, home)
        _street(panels["street"], found)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=100, metadata={"Software": None})
    path.with_suffix(".json").write_text(json.dumps(found.document, indent=2) + "\n", "utf-8")


def _calmest(published: Published) -> int:
    """A home without a kettle in the evening, so that the film is large in the picture."""
    first, last = (round(hour * _PER_HOUR) for hour in _EVENING)
    return int(published.street.watts[:, first:last].max(axis=1).argmin())


def _hours(axes: Axes, first: float, last: float) -> None:
    every = 3 if last - first > 6 else 1
    hours = np.arange(np.ceil(first), last + 0.01, every)
    axes.set_xticks(hours, [f"{hour:.0f}:00" for hour in hours])
    axes.set_xlim(first, last)


def _evening(axes: Axes, watts: NDArray[Any]) -> None:
    """What both of a home's panels share; `watts` are those of a day."""
    first, last = (round(hour / 24 * len(watts)) for hour in _EVENING)
    axes.set_ylim(0, 1.35 * float(np.nanmax(watts[first:last])))
    axes.set_ylabel("W")
    axes.axvspan(*_FILM, color=plot.DANGER, alpha=0.08, lw=0)
    axes.text(
        *(sum(_FILM) / 2, 0.93),
        "a film is on",
        color=plot.DANGER,
        ha="center",
        va="top",
        transform=axes.get_xaxis_transform(),
    )
    _hours(axes, *_EVENING)


def _read(axes: Axes, published: Published, home: int) -> None:
    axes.set_title("What a home's meter reads, every 10 s")
    hours = np.arange(SLOTS) / _PER_HOUR
    axes.plot(hours, published.street.watts[home], color=plot.INK, lw=0.7)
    _evening(axes, published.street.watts[home])


def _released(axes: Axes, published: Published, home: int) -> None:
    slots = published.policy.slots
    values = published.values[home]
    true = published.street.watts[home].reshape(-1, slots).mean(axis=1)
    edges = np.arange(len(values) + 1) * slots / _PER_HOUR
    axes.set_title(f"What meteragent publishes instead, every {slots / 6:g} min")
    axes.stairs(
        true, edges, color=plot.TRUE, lw=1, baseline=None, ls="--", label="true average: not shown"
    )
    axes.stairs(values, edges, color=plot.RELEASED, lw=2.2, baseline=None, label="published")
    _evening(axes, values)
    axes.legend(loc="upper left", fontsize=8, borderaxespad=0.1)


def _attacked(
    axes: Axes, found: Findings, beliefs: NDArray[np.float64], published: Published, home: int
) -> None:
    """What the attacker believes of one home, and how often that is right in all of them."""
    shown = int(published.street.shown[home])
    right = found.right(beliefs)
    how_often = rate(right).rstrip(")").replace(" (", "\n").replace(": ", ":\n")
    colours = [plot.DANGER if film == shown else plot.TRUE for film in range(FILMS)]
    axes.bar(range(FILMS), beliefs[home] * 100, color=colours, width=0.8)
    axes.set_title(f"Attacker: right in {right.hits} of {found.homes} homes")
    axes.set_ylim(0, 108)
    axes.set_yticks([0, 50, 100], ["0 %", "50 %", "100 %"])
    axes.set_xticks([])
    axes.set_xlabel(f"which of {FILMS} films? (red: the one on)")
    axes.text(
        *(0.03 if shown > FILMS / 2 else 0.97, 0.93),
        f"right: {how_often}\nby guessing: {100 / FILMS:.1f} %",
        transform=axes.transAxes,
        ha="left" if shown > FILMS / 2 else "right",
        va="top",
    )


def _street(axes: Axes, found: Findings) -> None:
    edges = np.linspace(0, 24, len(found.true) + 1)
    together, added_up = found.off(found.together), found.off(found.added_up)
    axes.set_title(
        f"What the utility gets: the sum of {found.homes} homes in one draw, "
        f"off by {together.words} in an hour"
    )
    for watts, label, style in (
        (found.added_up, f"added up from homes' releases: off by {added_up.words}", _ADDED_UP),
        (found.true, "true", {"color": plot.INK, "lw": 1}),
        (
            found.together,
            "released in one draw",
            {"color": plot.RELEASED, "lw": 2, "ls": (0, (4, 2))},
        ),
    ):
        axes.stairs(watts / 1000, edges, baseline=None, label=label, **style)
    axes.set_ylim(0, 1.3 * float(np.nanmax([found.added_up, found.true, found.together])) / 1000)
    axes.set_ylabel("kW")
    axes.legend(loc="upper left", ncols=3, fontsize=8)
    _hours(axes, 0, 24)
