"""Draws the dashboards from a Prometheus' data: how they look, without a Grafana.

    python -m deploy.grafana.draw http://localhost:9090 --minutes 60

One PNG per dashboard, and a sheet of how it looks at a desk and on a phone, by day and by night;
every panel asks its own queries.
"""

import argparse
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from deploy.grafana.dashboards import ALL
from deploy.grafana.layout import ANNOTATIONS, Dashboard, Row
from deploy.grafana.look import DARK, DESK, LIGHT, PHONE, Screen, Theme
from deploy.grafana.panels import Heat, Lines, Number, Panel, Table
from deploy.grafana.sheets import png, sheet
from deploy.grafana.shown import shown
from deploy.grafana.source import Found, Source, filled

PICTURES = Path(__file__).parent / "pictures"
POINTS = 240
COLUMN, LINE = 0.62, 0.33
"""Inches of a cell of the grid."""
GAP = 0.07
LEGEND_ROWS = 3
"""Below a chart; Grafana scrolls the others."""
NARROWEST = 1.2
"""Columns of the grid that a column of a table needs."""


class Picture:
    """One dashboard on one screen."""

    def __init__(
        self,
        source: Source,
        begin: float,
        end: float,
        interval: str,
        *,
        theme: Theme = LIGHT,
        screen: Screen = DESK,
    ) -> None:
        self._source = source
        self._theme, self._screen = theme, screen
        self._interval = interval
        self._begin = begin
        self._end = end
        self._step = max(1.0, (end - begin) / POINTS)
        self._marks = [
            (time, theme.marks[color])
            for _, expression, color, _ in reversed(ANNOTATIONS)  # a restart also rebalances
            for found in self._over(expression)
            for time in _beginnings(found, self._step)
        ]

    def draw(self, dashboard: Dashboard) -> bytes:
        """As a PNG."""
        screen, theme = self._screen, self._theme
        placed = [*screen.placed(dashboard)]
        lines = max(y + (1 if isinstance(t, Row) else t.height) for t, _, y in placed)
        self._lines = lines + screen.head
        with mpl.rc_context(theme.style):
            size = (screen.columns * COLUMN, self._lines * LINE)
            self._figure = Figure(size, facecolor=theme.page)
            self._say(dashboard.title, 0.25, 0.95, size=15, weight="bold")
            for number, (name, _, color, _) in enumerate(reversed(ANNOTATIONS), 1):
                at = screen.columns - 2.2 * number, screen.head - 0.65
                self._say(f"┆ {name.lower()}", *at, 8, "bold", theme.marks[color])
            for thing, x, y in placed:
                if isinstance(thing, Row):
                    at = x + 0.25, y + screen.head + 0.6
                    self._say(thing.title, *at, size=10, weight="bold", color=theme.pale)
                else:
                    self._panel(thing, x, y + screen.head)
            return png(self._figure)

    def _over(self, expression: str) -> list[Found]:
        asked = filled(expression, self._interval)
        return self._source.over(asked, self._begin, self._end, self._step)

    def _box(self, x: float, y: float, width: float, height: float) -> tuple[float, ...]:
        """A place on the grid as matplotlib counts: shares of the sheet, from below."""
        across = self._screen.columns
        return (x / across, 1 - (y + height) / self._lines, width / across, height / self._lines)

    def _say(
        self,
        text: str,
        x: float,
        y: float,
        size: float = 7.2,
        weight: str = "normal",
        color: str = "",
    ) -> None:
        left, bottom, _, _ = self._box(x, y, 0, 0)
        ink = color or self._theme.ink
        self._figure.text(left, bottom, text, size=size, weight=weight, color=ink)

    def _panel(self, panel: Panel, x: float, y: float) -> None:
        left, bottom, width, height = self._box(
            x + GAP, y + GAP, panel.width - 2 * GAP, panel.height - 2 * GAP
        )
        frame = FancyBboxPatch(
            (left, bottom),
            width,
            height,
            boxstyle="square,pad=0",
            fc=self._theme.paper,
            ec=self._theme.edge,
            lw=0.8,
            zorder=-1,
        )
        self._figure.add_artist(frame)
        self._say(panel.title, x + 0.3, y + 0.95, size=8.5, weight="bold")
        match panel:
            case Number():
                self._number(panel, x, y)
            case Table():
                self._table(panel, x, y)
            case Heat():
                self._heat(panel, self._chart(panel, x, y))
            case Lines():
                self._drawn(panel, self._chart(panel, x, y))

    def _axes(self, x: float, y: float, width: float, height: float) -> Axes:
        left, bottom, w, h = self._box(x, y, width, height)
        return self._figure.add_axes((left, bottom, w, h))

    def _chart(self, panel: Panel, x: float, y: float) -> Axes:
        axes = self._axes(x + 1.25, y + 1.4, panel.width - 1.6, panel.height - 3.4)
        axes.set_facecolor(self._theme.paper)
        axes.set_xlim(self._begin, self._end)
        minute = 60 * max(1, round((self._end - self._begin) / 60 / self._screen.ticks))
        ticks = np.arange(self._begin // minute * minute + minute, self._end, minute)
        axes.set_xticks(ticks, [f"{_clock(t)}" for t in ticks])
        axes.tick_params(length=0)
        for time, color in self._marks:
            axes.axvline(time, color=color, lw=0.9, ls=(0, (3, 2)), zorder=1.5)
        return axes

    def _drawn(self, panel: Lines, axes: Axes) -> None:
        named = [
            (found.called(query.legend), found)
            for query in panel.queries
            for found in self._over(query.expression)
        ]
        named.sort(key=lambda one: one[0])
        base = np.zeros(len(self._times()))
        for number, (name, found) in enumerate(named):
            color, values = (
                self._theme.series[number % len(self._theme.series)],
                self._values(found),
            )
            values = np.nan_to_num(values) if panel.stacked else values
            if panel.bars:
                low = base if panel.stacked else 0
                axes.bar(self._times(), values, self._step, low, color=color, label=name)
            elif panel.stacked:
                axes.fill_between(self._times(), base, base + values, color=color, alpha=0.45, lw=0)
                axes.plot(self._times(), base + values, color=color, lw=1, label=name)
            else:
                axes.plot(self._times(), values, color=color, lw=1.2, label=name)
            if panel.stacked:
                base = base + values
        peak = max((max(found.values.values(), default=0) for _, found in named), default=0)
        self._finish(panel, axes, len(named), peak)

    def _finish(self, panel: Lines, axes: Axes, names: int, peak: float) -> None:
        if panel.limit:
            axes.axhline(panel.steps[-1][0] or 0, color=self._theme.steps["red"], lw=1, ls="--")
        low, high = axes.get_ylim()
        axes.set_ylim(panel.least if panel.least is not None else low, high if peak > 0 else 1)
        if panel.most is not None:
            axes.set_ylim(top=panel.most * 1.02)
        axes.yaxis.set_major_locator(MaxNLocator(5, integer=panel.decimals == 0))
        axes.yaxis.set_major_formatter(
            FuncFormatter(lambda value, _: shown(value, panel.unit, axis=True))
        )
        if names:
            room = LEGEND_ROWS * self._screen.legends
            handles, labels = axes.get_legend_handles_labels()
            if len(labels) > room:
                labels[room - 1 :] = [f"… and {len(labels) - room + 1} more"]
            axes.legend(
                handles[:room],
                labels,
                loc="upper left",
                bbox_to_anchor=(-0.11, -0.1),
                ncols=self._screen.legends,
                frameon=False,
                fontsize=6.8,
                handlelength=1,
                columnspacing=1,
                labelspacing=0.2,
            )

    def _heat(self, panel: Heat, axes: Axes) -> None:
        [query] = panel.queries
        found = sorted(self._over(query.expression), key=lambda one: float(one.labels["le"]))
        found = [one for one in found if one.labels["le"] != "+Inf"]
        up_to = np.array([self._values(one) for one in found])
        cells = np.diff(np.nan_to_num(up_to), axis=0, prepend=0)
        edges = np.array([0, *(float(one.labels["le"]) for one in found)])
        times = np.append(self._times(), self._end) - self._step / 2
        cells = np.ma.masked_less_equal(cells, 0)
        axes.pcolormesh(
            times, edges, cells, cmap=self._theme.heat, norm=PowerNorm(0.5), rasterized=True
        )
        axes.set_yticks(edges[::2], [shown(edge, "percentunit", axis=True) for edge in edges[::2]])
        axes.grid(visible=False)

    def _number(self, panel: Number, x: float, y: float) -> None:
        found = [(q, one) for q in panel.queries for one in self._over(q.expression) if one.values]
        room = (panel.width - 0.5) / max(1, len(found))
        if not found:
            self._say(panel.nothing, x + 0.3, y + 3.2, size=18, color=self._theme.steps["green"])
        for number, (query, one) in enumerate(sorted(found, key=lambda f: str(f[1].labels))):
            reached = [color for at, color in panel.steps if at is None or one.last >= at]
            color = self._theme.steps[reached[-1]]
            left = x + 0.3 + number * room
            text = shown(one.last, panel.unit, panel.decimals)
            self._say(text, left, y + 2.9, size=17, weight="bold", color=color)
            if one.labels:
                self._say(one.called(query.legend), left, y + 1.55, size=7, color=self._theme.pale)
            spark = self._axes(left, y + 3.05, room - 0.4, 0.75)
            spark.fill_between(self._times(), self._values(one), color=color, alpha=0.2, lw=0)
            spark.set_ylim(bottom=0)
            spark.axis("off")

    def _table(self, panel: Table, x: float, y: float) -> None:
        heads = [*panel.by, *(column.name for column in panel.columns)]
        rows: dict[tuple[str, ...], list[str]] = {}
        for column in panel.columns:
            for one in self._source.at(filled(column.expression, self._interval), self._end):
                key = tuple(one.labels[name] for name in panel.by)
                rows.setdefault(key, []).append(shown(one.last, column.unit, column.decimals))
        cells = [heads, *([*key, *values] for key, values in sorted(rows.items()))]
        seen = min(len(heads), int((panel.width - 0.6) / NARROWEST))
        room = (panel.width - 0.6) / seen
        for line, row in enumerate(cells):
            for number, text in enumerate(row[:seen]):
                weight, color = ("normal", self._theme.ink) if line else ("bold", self._theme.pale)
                at = x + 0.3 + number * room
                self._say(text, at, y + 2.1 + line * 0.85, weight=weight, color=color)
        if seen < len(heads):
            more = f"{len(heads) - seen} more columns, by scrolling →"
            self._say(more, x + 0.3, y + panel.height - 0.4, color=self._theme.pale)

    def _times(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return np.arange(self._begin, self._end, self._step)

    def _values(self, found: Found) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """On the grid of times, with gaps where there is nothing."""
        values = np.full(len(self._times()), np.nan)
        for time, value in found.values.items():
            at = round((time - self._begin) / self._step)
            if at < len(values) and np.isfinite(value):
                values[at] = value
        return values


def _beginnings(found: Found, step: float) -> list[float]:
    """When it came up; what goes on is marked once."""
    times = sorted(found.values)
    return [t for before, t in zip([0.0, *times], times, strict=False) if t - before > 1.5 * step]


def _clock(time: float) -> str:
    seconds = int(time) % 86_400
    return f"{seconds // 3600:02}:{seconds % 3600 // 60:02}"


def all_of(source: Source, seconds: float, interval: str, to: Path) -> None:
    """Every dashboard, of the last so many seconds."""
    to.mkdir(parents=True, exist_ok=True)
    [now] = source.at("time()")
    period = source, now.last - seconds, now.last, interval
    looks = [(theme, screen) for screen in (DESK, PHONE) for theme in (LIGHT, DARK)]
    pictures = [Picture(*period, theme=theme, screen=screen) for theme, screen in looks]
    for dashboard in ALL:
        taken = [picture.draw(dashboard) for picture in pictures]
        file = to / dashboard.file
        file.with_suffix(".png").write_bytes(taken[0])
        file.with_suffix(".looks.png").write_bytes(sheet(taken[:2], taken[2:]))


def main() -> int:
    """Ask and draw."""
    parser = argparse.ArgumentParser(prog="python -m deploy.grafana.draw")
    parser.add_argument("address", help="of a Prometheus")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--interval", default="1m", help="what rates are of: four scrapes or more")
    parser.add_argument("--to", type=Path, default=PICTURES)
    given = parser.parse_args()
    all_of(Source(given.address), 60 * given.minutes, given.interval, given.to)
    return 0


if __name__ == "__main__":
    sys.exit(main())
