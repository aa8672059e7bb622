"""Dashboards: rows of panels, the choices at the top, and what is marked on every chart."""

from dataclasses import dataclass
from itertools import count

from deploy.grafana.expressions import gauge, process
from deploy.grafana.panels import SOURCE, Json, Panel

WIDTH = 24
"""Columns of a dashboard."""


@dataclass(frozen=True)
class Row:
    """Panels beside each other under a heading; those that do not fit go below."""

    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True)
class Dashboard:
    """All of it."""

    file: str
    title: str
    meaning: str
    since: str
    rows: tuple[Row, ...]

    def panels(self) -> list[Panel]:
        """From top to bottom."""
        return [panel for row in self.rows for panel in row.panels]

    def placed(self) -> list[tuple[Row | Panel, int, int]]:
        """Rows and panels with their columns and lines."""
        found: list[tuple[Row | Panel, int, int]] = []
        y = 0
        for row in self.rows:
            found.append((row, 0, y))
            x, y, height = 0, y + 1, 0
            for panel in row.panels:
                if x + panel.width > WIDTH:
                    x, y, height = 0, y + height, 0
                found.append((panel, x, y))
                x, height = x + panel.width, max(height, panel.height)
            y += height
        return found

    def variables(self) -> list[Json]:
        """The choices at the top."""
        here = 'job=~"$job"'
        instances = f"label_values(meteragent_ready{{{here}}}, instance)"
        policies = f"label_values(meteragent_policy_info{{{here}}}, policy)"
        return [
            _SOURCES,
            _variable("job", "Job", "label_values(meteragent_ready, job)"),
            _variable("instance", "Instance", instances),
            _variable("policy", "Policy", policies),
        ]

    def json(self) -> Json:
        """As Grafana reads it."""
        numbers = count(1)
        return {
            "title": self.title,
            "description": self.meaning,
            "tags": ["meteragent"],
            "schemaVersion": 39,
            "version": 1,
            "editable": True,
            "graphTooltip": 1,
            "refresh": "30s",
            "timezone": "browser",
            "time": {"from": self.since, "to": "now"},
            "templating": {"list": self.variables()},
            "annotations": {"list": [_annotation(*given) for given in ANNOTATIONS]},
            "links": [_LINK],
            "panels": [
                thing.json(number, x, y) if isinstance(thing, Panel) else _heading(thing, number, y)
                for number, (thing, x, y) in zip(numbers, self.placed(), strict=False)
            ],
        }


RESTARTS = f"(time() - {process('start_time_seconds')}) < 60"
"""Once for each start, also under a new name, which `changes` would not see."""
REBALANCES = f"increase({gauge('rebalances_total')}[2m]) > 0"
ANNOTATIONS = (
    ("Restarts", RESTARTS, "red", "{{instance}} was started"),
    ("Rebalances", REBALANCES, "purple", "partitions were dealt out to {{instance}}"),
)

_SOURCES = {
    "name": "datasource",
    "label": "Data source",
    "type": "datasource",
    "query": "prometheus",
    "hide": 0,
    "refresh": 1,
    "regex": "",
    "multi": False,
    "includeAll": False,
}
_LINK = {
    "type": "dashboards",
    "title": "meteragent",
    "tags": ["meteragent"],
    "icon": "external link",
    "tooltip": "The other dashboard",
    "asDropdown": False,
    "includeVars": True,
    "keepTime": True,
    "targetBlank": False,
    "url": "",
}


def _variable(name: str, label: str, query: str) -> Json:
    return {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": SOURCE,
        "query": {"query": query, "refId": name},
        "regex": "",
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".+",
        "current": {"text": "All", "value": "$__all"},
        "hide": 0,
    }


def _annotation(name: str, expression: str, color: str, text: str) -> Json:
    return {
        "name": name,
        "datasource": SOURCE,
        "enable": True,
        "iconColor": color,
        "expr": expression,
        "step": "60s",
        "titleFormat": name,
        "textFormat": text,
        "tagKeys": "instance",
    }


def _heading(row: Row, number: int, y: int) -> Json:
    return {
        "id": number,
        "type": "row",
        "title": row.title,
        "collapsed": False,
        "gridPos": {"x": 0, "y": y, "w": WIDTH, "h": 1},
        "panels": [],
    }
