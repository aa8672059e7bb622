"""The dashboards as Grafana and its users want them, without a Grafana."""

from __future__ import annotations

import json
import random
import re
import subprocess
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from deploy.grafana.dashboards import ALL, HERE, written
from deploy.grafana.panels import Table
from deploy.grafana.source import filled
from deploy.prometheus.model import Recorded, groups
from deploy.prometheus.rules import ALERTS
from deploy.prometheus.spans import LONGEST, SPANS
from meteragent.privacy.units import duration
from tests.dashboards.test_alerts import judged
from tests.watch import street
from tests.watch.stage import GAS, Stage
from tests.watch.stage import config as stage_config
from tests.watch.test_metrics import OPEN, exposed, play

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deploy.grafana.layout import Dashboard
    from meteragent.config import Config

Json = dict[str, Any]

TOOLS = Path(__file__).parent / "node_modules"
DASHBOARDS = {dashboard.title: json.loads(written(dashboard)) for dashboard in ALL}
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
UNITS = {"bytes", "dtdurations", "none", "ops", "percentunit", "rps", "s", "short"}
"""Of the names that Grafana knows units by; not watts: policies are about other things too."""
SELECTOR = re.compile(r"((?:meteragent|process)_\w+)(?:\{([^}]*)\})?(\[[^\]]*\])?")

each = pytest.mark.parametrize("dashboard", DASHBOARDS.values(), ids=[*DASHBOARDS])


def lines(accept: str = "") -> list[str]:
    """What agents show: one of meters, and one of groups too."""
    stage, _ = play(random.Random(1), minutes=3)
    text = exposed(stage, accept) + street.scraped(accept)
    return [line for line in text.splitlines() if line[0] != "#"]


def panels(dashboard: Json) -> list[Json]:
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def expressions(dashboard: Json) -> Iterator[str]:
    for panel in panels(dashboard):
        for target in panel["targets"]:
            yield target["expr"]


@pytest.mark.parametrize("dashboard", ALL, ids=[*DASHBOARDS])
def test_the_files_are_fresh(dashboard: Dashboard) -> None:
    """If not: python -m deploy.grafana.dashboards"""
    assert (HERE / dashboard.file).read_text() == written(dashboard)


def test_what_runbooks_send_people_to_is_there() -> None:
    told = " ".join(step for alert in ALERTS for step in alert.steps)
    named = {*re.findall(r"(?<!\*)\*([A-Z][^*]*)\*", told)}
    titles = {panel["title"] for dashboard in DASHBOARDS.values() for panel in panels(dashboard)}
    assert len(named) > 4
    assert named <= titles | {*DASHBOARDS}


def checked(tmp_path: Path, dashboards: dict[str, Json]) -> str:
    """What TypeScript says to them by Grafana's own types."""
    (tmp_path / "node_modules").symlink_to(TOOLS)
    (tmp_path / "schema.ts").write_text((Path(__file__).parent / "schema.ts").read_text())
    lines = ['import type { Kinds, Row, Whole } from "./schema";']
    for dashboard in dashboards.values():
        whole = {**dashboard, "panels": []}
        lines.append(f"({json.dumps(whole)}) satisfies Whole;")
        for panel in dashboard["panels"]:
            kind = "Row" if panel["type"] == "row" else f'Kinds["{panel["type"]}"]'
            lines.append(f"({json.dumps(panel)}) satisfies {kind};")
    (tmp_path / "dashboards.ts").write_text("\n".join(lines))
    options = "--noEmit --strict --skipLibCheck --target es2022 --module esnext"
    options += " --moduleResolution bundler dashboards.ts"
    done = subprocess.run(  # noqa: S603 - as locked
        [str(TOOLS / "typescript" / "bin" / "tsc"), *options.split()],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


def test_grafanas_own_schema_has_nothing_to_say(tmp_path: Path) -> None:
    assert checked(tmp_path, DASHBOARDS) == ""


def broken() -> Json:
    """One mistake of each sort."""
    dashboard: Json = json.loads(json.dumps(DASHBOARDS["Stream health"]))
    first = next(p for p in dashboard["panels"] if p["type"] == "timeseries")
    first["options"]["legend"]["placement"] = "beside"
    first["fieldConfig"]["defaults"]["custom"]["lineWdth"] = 1
    second = next(p for p in dashboard["panels"] if p["type"] == "stat")
    del second["options"]["colorMode"]
    dashboard["refrsh"] = "1m"
    return dashboard


def test_grafanas_own_schema_sees_mistakes(tmp_path: Path) -> None:
    said = checked(tmp_path, {"": broken()})
    for mistake in ("beside", "lineWdth", "colorMode", "refrsh"):
        assert mistake in said


@each
def test_the_data_source_is_chosen_and_nothing_is_hard_coded(dashboard: Json) -> None:
    uids = set(re.findall(r'"uid": "([^"]*)"', json.dumps(dashboard)))
    assert uids == {"${datasource}"}
    assert "uid" not in dashboard
    assert dashboard["editable"] is True
    source, *others = dashboard["templating"]["list"]
    assert (source["name"], source["label"], source["query"]) == (
        "datasource",
        "Data source",
        "prometheus",
    )
    assert [variable["name"] for variable in others] == ["job", "instance", "policy"]
    for variable in others:
        assert variable["datasource"] == SOURCE
        assert variable["label"] == variable["name"].capitalize()
        assert variable["multi"]
        assert variable["includeAll"]
        assert (variable["allValue"], variable["refresh"]) == (".+", 2)
    assert [a["name"] for a in dashboard["annotations"]["list"]] == ["Restarts", "Rebalances"]


@each
def test_every_panel_says_what_it_shows(dashboard: Json) -> None:
    titles = [panel["title"] for panel in panels(dashboard)]
    assert len(titles) == len(set(titles))
    for panel in panels(dashboard):
        assert panel["title"]
        assert len(panel["description"]) > 30
        assert panel["description"].endswith(".")
        assert panel["datasource"] == SOURCE
        assert panel["targets"]
        units = [panel["fieldConfig"]["defaults"]["unit"]]
        for override in panel["fieldConfig"]["overrides"]:
            units += [p["value"] for p in override["properties"] if p["id"] == "unit"]
        assert set(units) <= UNITS
        for target in panel["targets"]:
            assert target["datasource"] == SOURCE
            assert target["legendFormat"]


@each
def test_every_query_is_of_the_chosen_job_instance_and_policy(dashboard: Json) -> None:
    shown = lines()
    known = {line.split("{")[0].split(" ")[0] for line in shown}
    of_policies = {line.split("{")[0] for line in shown if 'policy="' in line}
    for expression in expressions(dashboard):
        for metric, matchers, _ in SELECTOR.findall(expression):
            assert 'job=~"$job"' in matchers
            assert 'instance=~"$instance"' in matchers
            assert ('policy=~"$policy"' in matchers) == (metric in of_policies), metric
            assert metric in known or metric.startswith("process_"), metric


LATELY = "[$__rate_interval]"
OF_A_DAY = (LATELY, "[1d]")
OF_WINDOWS = (LATELY, *(f"[{span}]" for _, span in SPANS), f"[{LONGEST}]")


def test_no_long_range_is_read_sample_by_sample() -> None:
    """There is one at every scrape, of every series: no query may read two months of them."""
    for span in (*(span for _, span in SPANS), LONGEST):
        length, _, apart = span.partition(":")
        each = duration("apart", apart) if apart else 15_000
        assert duration("span", length) / each <= 500


@each
def test_counters_are_rates_over_grafanas_interval_or_over_two_windows(dashboard: Json) -> None:
    of_policies = {line.split("{")[0] for line in lines() if 'policy="' in line}
    for expression in expressions(dashboard):
        for found in SELECTOR.finditer(expression):
            metric, _, reach = found.groups()
            counts = metric.endswith("_total") or (
                metric.endswith(("_bucket", "_count")) and "budget_remaining" not in metric
            )
            reaches = OF_WINDOWS if metric in of_policies else OF_A_DAY
            assert (reach in reaches) == counts, expression
            if counts:
                assert expression[: found.start()].endswith(("rate(", "increase(")), expression


@each
def test_panels_stand_beside_each_other(dashboard: Json) -> None:
    places = [panel["gridPos"] for panel in dashboard["panels"]]
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(places)
    assert all(place["x"] + place["w"] <= 24 for place in places)
    for one, other in combinations(places, 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        below = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert beside or below


@each
def test_promtool_reads_every_expression(dashboard: Json, tmp_path: Path) -> None:
    found = [*expressions(dashboard), *(a["expr"] for a in dashboard["annotations"]["list"])]
    plain = [text.replace("$__rate_interval", "1m") for text in found]
    rules = [Recorded(f"panel:expression:{n}", text) for n, text in enumerate(plain)]
    (tmp_path / "rules.yml").write_text(groups([("panels", rules)], "dashboards"))
    done = subprocess.run(  # noqa: S603 - Prometheus' own tool
        ["promtool", "check", "rules", tmp_path / "rules.yml"],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def sampled(instance: str, settings: Config) -> dict[str, str]:
    """What an agent shows that has read nothing yet, in promtool's notation."""
    found = {}
    for line in exposed(Stage(settings)).splitlines():
        if line.startswith("meteragent_") and "_bucket" not in line:
            name, labels, value = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line).groups()  # type: ignore[union-attr]
            place = ", ".join(filter(None, (labels, f'job="meteragent", instance="{instance}"')))
            found[f"{name}{{{place}}}"] = f"{float(value):g}x5"
    return found


@pytest.mark.parametrize(
    ("title", "query", "expected"),
    [
        (
            "Policies",
            "radius",
            {"gas": ("l/h", 40), "household": ("W", 100), "feeder": ("W", 1000)},
        ),
        ("What one answer means", "noise scale", {"gas": ("l/h", 40)}),
    ],
)
def test_numbers_of_a_policy_stand_beside_its_unit(
    title: str, query: str, expected: dict[str, tuple[str, float]], tmp_path: Path
) -> None:
    """Of gas in litres an hour, of power in watts: nothing is called watts that is none."""
    [panel] = [panel for dashboard in ALL for panel in dashboard.panels() if panel.title == title]
    assert isinstance(panel, Table)
    assert "unit" in panel.by
    [column] = [one for one in panel.columns if one.name == query]
    given = sampled("a", stage_config()) | sampled("b", stage_config(GAS))
    samples = []
    for policy, (unit, value) in expected.items():
        others = {"job": "meteragent"} if "job" in panel.by else {"query": "avg"}
        labels = {"policy": policy, "unit": unit, **others}
        told = ", ".join(f'{name}="{label}"' for name, label in labels.items())
        samples.append({"labels": f"{{{told}}}", "value": value})
    chosen = "|".join(expected)
    asked = filled(column.expression, "1m").replace('policy=~".+"', f'policy=~"{chosen}"')
    question = {"expr": asked, "eval_time": "3m", "exp_samples": samples}
    test = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in given.items()],
        "promql_expr_test": [question],
    }
    code, said = judged([test], tmp_path)
    assert code == 0, said


def test_what_is_asked_for_is_in_both_formats() -> None:
    """Prometheus prefers OpenMetrics; the names must be those of the text format."""
    names = {
        frozenset(line.split("{")[0].split(" ")[0] for line in shown)
        for shown in (lines(), lines(OPEN))
    }
    assert len(names) == 1
