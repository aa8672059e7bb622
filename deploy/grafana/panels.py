"""Panels: what each says, how its kind looks, and the JSON that Grafana reads.

Grafana's foundation SDK was tried. It makes the same JSON in 81 lines, and here are 128; but it is
a package of 5 MB for each version of Grafana, and reads a dashboard with mistakes without a word.
So JSON is written here, and Grafana's own schema, in TypeScript, is what judges it in the tests.
"""

from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

SOURCE = {"type": "prometheus", "uid": "${datasource}"}
GREEN, YELLOW, RED, BLUE, GREY = "green", "yellow", "red", "blue", "text"
Steps = tuple[tuple[float | None, str], ...]
"""Colours, each from a value on; the first from anywhere."""
NEUTRAL: Steps = ((None, BLUE),)


@dataclass(frozen=True)
class Query:
    """An expression, and what its lines are called: `{{policy}}` is the label's value."""

    expression: str
    legend: str
    labels: tuple[str, ...] = ()
    """Those of its result."""


@dataclass(frozen=True)
class Panel:
    """What every panel says; its kinds say how they look."""

    title: str
    meaning: str
    unit: str
    queries: tuple[Query, ...]
    width: int = 8
    height: int = 8
    steps: Steps = NEUTRAL
    decimals: int | None = None
    least: float | None = None
    most: float | None = None
    nothing: str = ""
    """What to show where there is nothing."""

    kind = ""
    instant = False
    form = "time_series"

    def options(self) -> Json:
        """Of its kind."""
        raise NotImplementedError

    def custom(self) -> Json:
        """The fields' settings of its kind."""
        return {}

    def color(self) -> Json:
        """How colours are chosen."""
        return {"mode": "palette-classic"}

    def more(self) -> Json:
        """What only some kinds have."""
        return {}

    def json(self, number: int, x: int, y: int) -> Json:
        """As Grafana reads it."""
        return {
            "id": number,
            "type": self.kind,
            "title": self.title,
            "description": self.meaning,
            "datasource": SOURCE,
            "gridPos": {"x": x, "y": y, "w": self.width, "h": self.height},
            "targets": [self._target(ref, query) for ref, query in enumerate(self.queries)],
            "fieldConfig": {"defaults": self._defaults(), "overrides": self.overrides()},
            "options": self.options(),
            **self.more(),
        }

    def overrides(self) -> list[Json]:
        """Fields that are shown otherwise."""
        return []

    def _target(self, number: int, query: Query) -> Json:
        return {
            "refId": chr(ord("A") + number),
            "datasource": SOURCE,
            "expr": query.expression,
            "legendFormat": query.legend,
            "format": self.form,
            "instant": self.instant,
            "range": not self.instant,
        }

    def _defaults(self) -> Json:
        steps = [{"color": color, "value": value} for value, color in self.steps]
        known = {"decimals": self.decimals, "min": self.least, "max": self.most}
        return {
            "unit": self.unit,
            "color": self.color(),
            "thresholds": {"mode": "absolute", "steps": steps},
            "custom": self.custom(),
            **{name: value for name, value in known.items() if value is not None},
            **({"noValue": self.nothing} if self.nothing else {}),
        }


@dataclass(frozen=True)
class Number(Panel):
    """The present value of each series, large; behind it, how it came about."""

    height: int = 4
    kind = "stat"

    def color(self) -> Json:
        """By thresholds."""
        return {"mode": "thresholds"}

    def options(self) -> Json:
        """Name and value where there are several."""
        return {
            "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
            "orientation": "auto",
            "textMode": "auto",
            "wideLayout": True,
            "colorMode": "value",
            "graphMode": "area",
            "justifyMode": "auto",
            "showPercentChange": False,
            "percentChangeColorMode": "standard",
        }


@dataclass(frozen=True)
class Lines(Panel):
    """Over time."""

    stacked: bool = False
    bars: bool = False
    limit: bool = False
    """Whether the last threshold is drawn, as a dashed line."""
    kind = "timeseries"

    def custom(self) -> Json:
        """Thin lines, or what is stacked filled."""
        return {
            "drawStyle": "bars" if self.bars else "line",
            "lineWidth": 1,
            "fillOpacity": 70 if self.bars else 35 if self.stacked else 8,
            "showPoints": "never",
            "spanNulls": False,
            "stacking": {"group": "A", "mode": "normal" if self.stacked else "none"},
            "thresholdsStyle": {"mode": "dashed" if self.limit else "off"},
        }

    def options(self) -> Json:
        """The last value beside each name."""
        return {
            "legend": {
                "calcs": ["lastNotNull"],
                "displayMode": "list",
                "placement": "bottom",
                "showLegend": True,
            },
            "tooltip": {"mode": "multi", "sort": "desc"},
        }


@dataclass(frozen=True)
class Heat(Panel):
    """How many meters in which bucket, over time."""

    kind = "heatmap"
    form = "heatmap"

    def options(self) -> Json:
        """Buckets as they are exported."""
        return {
            "calculate": False,
            "cellGap": 1,
            "color": {
                "mode": "scheme",
                "scheme": "Blues",
                "fill": "dark-blue",
                "scale": "exponential",
                "exponent": 0.5,
                "reverse": False,
                "steps": 64,
            },
            "exemplars": {"color": "rgba(255,0,255,0.7)"},
            "filterValues": {"le": 1e-9},
            "legend": {"show": True},
            "rowsFrame": {"layout": "le"},
            "showValue": "never",
            "tooltip": {"mode": "single", "showColorScale": False, "yHistogram": True},
            "yAxis": {"axisPlacement": "left", "unit": "percentunit", "decimals": 0},
        }


@dataclass(frozen=True)
class Column:
    """One of a table, and the query that fills it."""

    name: str
    unit: str
    expression: str
    decimals: int | None = None


@dataclass(frozen=True)
class Table(Panel):
    """One row for each value of some labels, one column for each query."""

    queries: tuple[Query, ...] = field(init=False)
    columns: tuple[Column, ...] = ()
    by: tuple[str, ...] = ()
    kind = "table"
    form = "table"
    instant = True

    def __post_init__(self) -> None:
        queries = tuple(Query(c.expression, c.name, self.by) for c in self.columns)
        object.__setattr__(self, "queries", queries)

    def custom(self) -> Json:
        """Plain cells."""
        return {"align": "auto", "cellOptions": {"type": "auto"}, "inspect": False}

    def options(self) -> Json:
        """As they come."""
        return {"showHeader": True, "frameIndex": 0, "cellHeight": "sm"}

    def more(self) -> Json:
        """Joined by their labels; `Value #A` is how Grafana calls the value of query A."""
        values = {f"Value #{chr(ord('A') + n)}": c.name for n, c in enumerate(self.columns)}
        order = {name: n for n, name in enumerate([*self.by, *values])}
        organize = {"excludeByName": {"Time": True}, "indexByName": order, "renameByName": values}
        return {
            "transformations": [
                {"id": "merge", "options": {}},
                {"id": "organize", "options": organize},
            ]
        }

    def overrides(self) -> list[Json]:
        """Each column has its own unit."""
        return [
            {
                "matcher": {"id": "byName", "options": column.name},
                "properties": [
                    {"id": "unit", "value": column.unit},
                    *(
                        [{"id": "decimals", "value": d}]
                        if (d := column.decimals) is not None
                        else []
                    ),
                ],
            }
            for column in self.columns
        ]
