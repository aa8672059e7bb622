"""A real Prometheus scrapes running agents: every question that the project asks has an answer."""

from __future__ import annotations

import asyncio
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from deploy.grafana import draw
from deploy.grafana.dashboards import ALL
from deploy.grafana.layout import ANNOTATIONS
from deploy.grafana.source import Source, filled
from deploy.prometheus.recorded import RECORDED
from deploy.prometheus.rules import ALERTS
from meteragent.commands.exit_codes import Exit
from meteragent.config import keyfile
from simulations.watching.load import Load, config, prepare
from simulations.watching.prometheus import prometheus
from tests.integration.fleet import Agent, Fleet

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.integration

WINDOW, WINDOWS = 2, 10
INTERVAL = "20s"
LOAD_SECONDS = 60
LARGEST_PICTURE = 150_000


@dataclass
class Watched(Fleet):
    """With budgets that soon run out."""

    def write(self) -> None:
        self.file.write_text(config(self.servers, self.name, WINDOW, WINDOWS))
        keyfile.create(self.directory / "noise.key")

    async def create(self) -> None:
        self.write()
        await prepare(self.config, self.partitions)

    def addresses(self) -> dict[str, str]:
        """Where the instances that were started listen, also those that have gone."""
        said = [str(agent.said("listening")[0]["address"]) for agent in self.agents]
        return {f"agent-{n}": address.rpartition("/")[2] for n, address in enumerate(said)}


async def answering(fleet: Fleet) -> Agent:
    agent = await fleet.start()
    await agent.becomes("ready")
    return agent


def the_agents_are_read_as_openmetrics(source: Source) -> None:
    """Only that format knows of these types."""
    targets = source.get("targets", state="active")["activeTargets"]
    assert {(t["health"], t["lastError"]) for t in targets} == {("up", "")}
    for metric, kind in (("budget_remaining_ratio", "gaugehistogram"), ("build", "info")):
        [found] = source.get("metadata", metric=f"meteragent_{metric}")[f"meteragent_{metric}"]
        assert found["type"] == kind
        assert found["help"]


def every_panel_has_data(source: Source) -> None:
    for dashboard in ALL:
        for panel in dashboard.panels():
            for query in panel.queries:
                found = source.at(filled(query.expression, INTERVAL))
                assert found, (panel.title, query.expression)
                assert {frozenset(one.labels) for one in found} == {frozenset(query.labels)}
                assert any(one.values for one in found), (panel.title, query.expression)
                assert "{{" not in found[0].called(query.legend)


def every_variable_has_choices(source: Source) -> None:
    for dashboard in ALL:
        found = {
            variable["name"]: source.label_values(variable["query"]["query"])
            for variable in dashboard.variables()
            if variable["type"] == "query"
        }
        assert found["job"] == ["meteragent"]
        assert found["policy"] == ["feeder", "household", "streets"]
        assert len(found["instance"]) == 2


def everything_recorded_is_there(source: Source) -> None:
    for rule in RECORDED:
        found = source.at(rule.name)
        assert found, rule.name
        assert {"_".join(sorted(one.labels)) for one in found} == {
            "_".join(sorted(rule.name.split(":")[0].split("_")))
        }
        assert any(one.values for one in found), rule.name


ELSEWHERE = {"MeterAgentProcessEnds"}
"""Of agents that are several processes: `test_alerts` asks these."""


def every_alert_has_something_to_compare(source: Source) -> None:
    groups = source.get("rules")["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert {(rule["health"], rule.get("lastError", "")) for rule in rules} == {("ok", "")}
    assert [r["name"] for r in rules if r["type"] == "alerting"] == [a.name for a in ALERTS]
    for alert in ALERTS:
        found = source.at(alert.vector)
        if alert.name in ELSEWHERE:
            assert not found  # these agents have none
            continue
        assert found, alert.name
        assert {frozenset(one.labels) for one in found} == {frozenset(alert.labels)}
        assert any(one.values for one in found), alert.name


def starts_and_rebalances_are_marked(source: Source) -> None:
    [now] = source.at("time()")
    for name, expression, _, _ in ANNOTATIONS:
        marked = source.over(filled(expression, INTERVAL), now.last - 120, now.last, 5)
        assert {"job", "instance"} <= set(marked[0].labels), name


def test_every_question_has_an_answer(kafka: str, tmp_path: Path) -> None:
    fleet = Watched(tmp_path, kafka, partitions=4)

    async def scenario() -> None:
        await fleet.create()
        load = Load(fleet.config.kafka.input)
        async with prometheus(tmp_path / "prometheus") as watcher:
            first = await answering(fleet)
            watcher.scrape(fleet.addresses())
            sending = asyncio.create_task(load.send(kafka, LOAD_SECONDS))
            await watcher.at("meteragent_ready == 1")
            await asyncio.sleep(5)
            await answering(fleet)  # a rebalance
            watcher.scrape(fleet.addresses())
            await watcher.at("sum (meteragent_windows_suppressed_total{reason='coverage'}) > 0")
            await watcher.at("sum (meteragent_windows_suppressed_total{reason='budget'}) > 0")
            await watcher.at("count (min by (instance) (meteragent_ready) == 1) == 2")
            await watcher.at("min (count_over_time(up[30s])) > 8")

            for holds in (
                the_agents_are_read_as_openmetrics,
                every_panel_has_data,
                every_variable_has_choices,
                everything_recorded_is_there,
                every_alert_has_something_to_compare,
                starts_and_rebalances_are_marked,
            ):
                await asyncio.to_thread(holds, watcher.source)
            await asyncio.to_thread(draw.all_of, watcher.source, 30, INTERVAL, tmp_path / "drawn")
            for dashboard in ALL:
                picture = (tmp_path / "drawn" / dashboard.file).with_suffix(".png").read_bytes()
                assert 20_000 < len(picture) < LARGEST_PICTURE
            body = (await first.shows("/metrics"))[1]
            done = await asyncio.to_thread(
                subprocess.run,
                ["promtool", "check", "metrics"],
                input=body,
                capture_output=True,
                text=True,
                check=False,
            )
            assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

            # An instance with another key, which is not taken in, and one that has gone.
            (tmp_path / "noise.key").unlink()
            keyfile.create(tmp_path / "noise.key")
            assert await (await fleet.start()).ended() == Exit.OWNER
            first.process.kill()
            await first.ended()
            await watcher.at(alerting("MeterAgentDown", "pending"))
            sending.cancel()

    async def to_the_end() -> None:
        try:
            await scenario()
        finally:
            await fleet.kill()

    asyncio.run(to_the_end())


def alerting(name: str, state: str) -> str:
    return f'ALERTS{{alertname="{name}", alertstate="{state}"}}'
