"""One look for all pictures: readable in print, for the colour-blind, and in a dark room."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure

INK, GRID, TRUE, RELEASED, SECOND, THIRD, DANGER = (
    "#1b2733",
    "#dfe4e8",
    "#7a8793",
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#d55e00",
)
CYCLE = [RELEASED, DANGER, THIRD, SECOND, "#cc79a7", "#56b4e9", TRUE]

_STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": TRUE,
    "axes.labelcolor": INK,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.prop_cycle": cycler(color=CYCLE),
    "grid.color": GRID,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "figure.facecolor": "white",
    "lines.linewidth": 1.4,
}


@contextmanager
def axes(
    rows: int = 1,
    columns: int = 1,
    *,
    width: float = 7.5,
    height: float = 3.2,
    sharex: bool = False,
) -> Iterator[tuple[Figure, list[Axes]]]:
    """A figure and its axes, row by row, in the common style; laid out when the block ends."""
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        made = figure.subplots(rows, columns, squeeze=False, sharex=sharex)
        yield figure, list(made.flat)
