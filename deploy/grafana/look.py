"""How a drawn dashboard looks: by day and by night, at a desk and on a phone."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from deploy.grafana.layout import WIDTH, Dashboard, Row
from deploy.grafana.panels import Panel


@dataclass(frozen=True)
class Theme:
    """Colours, as Grafana has them in its two themes."""

    name: str
    page: str
    paper: str
    edge: str
    ink: str
    pale: str
    grid: str
    heat: str
    """A map of matplotlib's, from few to many."""
    series: tuple[str, ...]
    steps: dict[str, str]
    marks: dict[str, str]

    @property
    def style(self) -> Any:  # noqa: ANN401 - matplotlib's
        """As matplotlib takes it."""
        return {
            "font.family": "DejaVu Sans",
            "font.size": 7.5,
            "text.color": self.ink,
            "axes.edgecolor": self.edge,
            "axes.labelcolor": self.pale,
            "xtick.color": self.pale,
            "ytick.color": self.pale,
            "axes.grid": True,
            "axes.axisbelow": True,
            "grid.color": self.grid,
            "grid.linewidth": 0.6,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.spines.left": False,
        }


@dataclass(frozen=True)
class Screen:
    """As many columns of the grid as are beside each other."""

    name: str
    columns: int
    head: float
    """Lines above the first row."""
    ticks: int
    legends: int

    def placed(self, dashboard: Dashboard) -> Iterator[tuple[Row | Panel, int, int]]:
        """Rows and panels; where it is narrow, each panel has a line of its own."""
        if self.columns == WIDTH:
            yield from dashboard.placed()
            return
        y = 0
        for thing, _, _ in dashboard.placed():
            if isinstance(thing, Row):
                yield thing, 0, y
                y += 1
            else:
                yield replace(thing, width=self.columns), 0, y
                y += thing.height


LIGHT = Theme(
    "light",
    page="#f1f3f5",
    paper="#ffffff",
    edge="#d5dae0",
    ink="#22272e",
    pale="#68727d",
    grid="#e9ecef",
    heat="Blues",
    series=(
        *("#3274d9", "#e0752d", "#37872d", "#a352cc"),
        *("#c4162a", "#1f9e9e", "#b8860b", "#7c8791"),
    ),
    steps={
        "green": "#37872d",
        "yellow": "#c98b0a",
        "red": "#c4162a",
        "blue": "#1f60c4",
        "text": "#22272e",
    },
    marks={"red": "#c4162a", "purple": "#8f3bb8"},
)
DARK = Theme(
    "dark",
    page="#111217",
    paper="#181b1f",
    edge="#2c3235",
    ink="#d8d9da",
    pale="#9fa7b3",
    grid="#24282c",
    heat="Blues_r",
    series=(
        *("#5794f2", "#ff9830", "#73bf69", "#b877d9"),
        *("#f2495c", "#4fd1c5", "#fade2a", "#a7b0b8"),
    ),
    steps={
        "green": "#73bf69",
        "yellow": "#f2cc0c",
        "red": "#f2495c",
        "blue": "#5794f2",
        "text": "#d8d9da",
    },
    marks={"red": "#f2495c", "purple": "#ca95e5"},
)
DESK = Screen("desk", WIDTH, head=1.6, ticks=6, legends=3)
PHONE = Screen("phone", 6, head=2.4, ticks=3, legends=2)
