"""The pictures of television: signatures, strength of the attacks, and what noise leaves."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from simulations.kit.command import Run
from simulations.kit.plot import CYCLE, INK, TRUE, axes
from simulations.tv.displays import DISPLAYS
from simulations.tv.library import Library, metered
from simulations.tv.noise import CHUNK_WINDOWS, EVENING_WINDOWS, Row, choose

SPAN = 110
"""Watts from bottom to top of every set's panel, so that they can be compared."""
LEAST = 0.1
"""Per cent at which logarithmic scales end; what is less, or nothing, is drawn there."""

_NAMES = {60: "1 min", 900: "15 min", 3600: "1 h", 21600: "6 h", 86400: "24 h"}


def signature(run: Run, films: Library) -> None:
    """Ten minutes of one film, as the eye sees it and as four plugs do."""
    picture = films.chunks(run.draw(80), 600)[:1]
    minutes = np.arange(600) / 60
    with axes(len(DISPLAYS) + 1, height=6.0, sharex=True) as (figure, panels):
        panels[0].plot(minutes, 100 * picture[0], color=INK, linewidth=0.9)
        panels[0].set_ylabel("brightness\n(% of white)")
        panels[0].set_title("Ten minutes of a film: the picture, and the power of four sets")
        for number, (panel, display) in enumerate(zip(panels[1:], DISPLAYS, strict=True)):
            watts = metered(picture, display, 2, run.draw(81, number))[0]
            panel.plot(minutes[::2], watts, color=CYCLE[number], linewidth=0.9)
            panel.set_ylabel(f"{display.name}\n(W)")
            middle = (watts.min() + watts.max()) / 2
            panel.set_ylim(middle - SPAN / 2, middle + SPAN / 2)
        panels[-1].set_xlabel("minutes")
        run.picture(
            figure,
            "signature",
            "What a plug sees of a film",
            "Each cut makes the picture brighter or darker, and three kinds of set draw more or "
            "less power with it: this is the signature by which a film is recognised. A set with "
            "static backlight gives nothing away.",
        )


def clean(run: Run, rows: Sequence[Row]) -> None:
    """How well chunks are recognised where nothing protects."""
    with axes(height=3.0) as (figure, (panel,)):
        for number, seconds in enumerate(CHUNK_WINDOWS):
            some = choose(rows, seconds=seconds)
            places = np.arange(len(some)) + 0.26 * (number - 1)
            share, below, above = _bars(some)
            label = f"metered every {seconds} s"
            panel.bar(places, share, 0.24, color=CYCLE[number], label=label, zorder=2)
            panel.errorbar(
                places, share, [below, above], fmt="none", color=INK, linewidth=1, zorder=3
            )
        panel.axhline(100 * rows[0]["chance"], color=TRUE, linestyle="--", label="guessing")
        panel.set_xticks(range(len(DISPLAYS)), [display.name for display in DISPLAYS])
        panel.set_ylabel("first guess is right (%)")
        panel.set_title("Without protection: 5-minute chunks of 300 films")
        panel.set_ylim(0, 118)
        panel.legend(ncols=4, loc="upper center", fontsize=8)
        run.picture(
            figure,
            "clean",
            "Unprotected readings give the film away",
            "How often correlation with 300 known films names the right one from five minutes of "
            "one plug. Bars show the share, whiskers its 95 % confidence interval.",
        )


def chunks(run: Run, rows: Sequence[Row]) -> None:
    """Success against noise, attack by attack."""
    with axes(1, 3, width=8.6, height=3.2) as (figure, panels):
        for panel, window in zip(panels, CHUNK_WINDOWS, strict=True):
            for number, attack in enumerate(("correlation", "elastic", "likelihood")):
                some = [r for r in rows if r["window_seconds"] == window and r["attack"] == attack]
                if some:
                    _curve(panel, some, CYCLE[number], attack)
            _finish(panel, rows, f"averages of {window} s")
        panels[0].set_ylabel("first guess is right (%)")
        panels[0].legend(fontsize=8)
        run.picture(
            figure,
            "chunks",
            "Five minutes of a film under noise",
            "Success of three attackers who hold the exact traces of 300 films, against the "
            "typical error of one release (more noise to the right). Who compares likelihoods "
            "does better than who matches shapes: every claim is judged by him. "
            "Bands: 95 % confidence.",
        )


def evenings(run: Run, rows: Sequence[Row]) -> None:
    """Success against noise, window by window."""
    titles = {"known": "the rest of the home is known", "unknown": "the rest of the home is not"}
    with axes(1, 2, width=8.6, height=4.1) as (figure, panels):
        for panel, (home, title) in zip(panels, titles.items(), strict=True):
            for number, window in enumerate(EVENING_WINDOWS):
                some = choose(rows, home=home, window_seconds=window)
                if some:
                    _curve(panel, some, CYCLE[number], f"averages of {_NAMES[window]}")
            _finish(panel, rows, title)
        panels[0].set_ylabel("first guess is right (%)")
        _legend(figure, panels[0])
        run.picture(
            figure,
            "evenings",
            "A whole evening under noise",
            "Four hours of one of 200 channels, on the most telling kind of set, guessed by the "
            "attacker who compares likelihoods. A long content needs more noise than a short one, "
            "and longer windows need less noise than shorter ones. Bands: "
            "95 % confidence; shares below 0.1 % are drawn there.",
        )


def real(run: Run, rows: Sequence[Row]) -> None:
    """Real contents of growing length."""
    if not rows:
        return
    with axes(1, 2, width=8.6, height=3.7) as (figure, panels):
        for panel, window in zip(panels, (60, 900), strict=True):
            for number, minutes in enumerate((5, 30, 60, 120)):
                some = choose(rows, minutes=minutes, window_seconds=window)
                if some:
                    _curve(panel, some, CYCLE[number], f"{minutes} min of content")
                    panel.axhline(100 * some[0]["chance"], color=CYCLE[number], linestyle=":")
            _finish(panel, [], f"averages of {_NAMES[window]}")
        panels[0].set_ylabel("first guess is right (%)")
        _legend(figure, panels[0])
        run.picture(
            figure,
            "real",
            "Recordings of real sets",
            "Stretches of public plug recordings, identified among all others of the same length "
            "by their likelihoods; dotted: guessing. Sets differ in their power, so part of this "
            "is telling one set from another. Bands: 95 % confidence.",
        )


def _legend(figure: Figure, panel: Axes) -> None:
    """One for all panels, below them."""
    handles, labels = panel.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, fontsize=8)


def _bars(rows: Sequence[Row]) -> tuple[Any, Any, Any]:
    share, low, high = (
        100 * np.array([row["top1"][end] for row in rows]) for end in ("share", "low", "high")
    )
    return share, share - low, high - share


def _curve(panel: Axes, rows: Sequence[Row], colour: str, label: str) -> None:
    error = [row["error_watts"] for row in rows]
    share, low, high = (
        np.maximum(LEAST, 100 * np.array([row["top1"][end] for row in rows]))
        for end in ("share", "low", "high")
    )
    panel.plot(error, share, color=colour, marker="o", markersize=3, label=label)
    panel.fill_between(error, low, high, color=colour, alpha=0.18, linewidth=0)


def _finish(panel: Axes, rows: Sequence[Row], title: str) -> None:
    if rows:
        panel.axhline(100 * rows[0]["chance"], color=TRUE, linestyle="--", label="guessing")
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.xaxis.set_major_formatter("{x:g}")
    panel.yaxis.set_major_formatter("{x:g}")
    panel.set_ylim(LEAST * 0.9, 130)
    panel.set_xlabel("typical error of one release (W)")
    panel.set_title(title)
