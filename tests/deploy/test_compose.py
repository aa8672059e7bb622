"""The compose file obeys its specification, and names only what there is."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from deploy.prometheus.spans import LONGEST
from meteragent import config
from meteragent.commands.parser import parser
from meteragent.privacy.units import duration
from tests.deploy import dockerfile, schemas

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "deploy" / "compose" / "compose.yaml"
COMPOSE: dict[str, Any] = yaml.safe_load(FILE.read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = ("key", "topics", "agent", "fleet")


def test_the_file_obeys_the_specification() -> None:
    jsonschema.validate(COMPOSE, schemas.compose())


@pytest.mark.parametrize("wrong", [{"imagee": "x"}, {"cap_drop": "ALL"}, {"ports": {"a": 1}}])
def test_a_mistake_would_be_found(wrong: dict[str, object]) -> None:
    services = SERVICES | {"agent": SERVICES["agent"] | wrong}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(COMPOSE | {"services": services}, schemas.compose())


def test_every_image_has_a_version() -> None:
    for service in SERVICES.values():
        assert re.fullmatch(r"[a-z/-]+:v?[0-9]+\.[0-9.]+", service["image"])


def test_the_broker_is_the_version_that_everything_is_tested_with() -> None:
    pom = (ROOT / "deploy" / "kafka" / "pom.xml").read_text()
    assert f"<kafka.version>{SERVICES['kafka']['image'].rpartition(':')[2]}<" in pom


def test_what_is_mounted_is_there() -> None:
    for service in SERVICES.values():
        for mount in service.get("volumes", ()):
            source = mount.split(":")[0]
            if source.startswith("."):
                assert (FILE.parent / source).exists()
                assert mount.endswith(":ro")
            else:
                assert source in COMPOSE["volumes"]


def test_what_is_waited_for_is_there() -> None:
    for service in SERVICES.values():
        assert set(service.get("depends_on", ())) <= SERVICES.keys()


def test_what_is_ours_runs_without_rights() -> None:
    for name in OURS:
        service = SERVICES[name]
        assert service["user"] == "65532:65532"
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]


def test_nothing_is_open_to_other_machines() -> None:
    for service in SERVICES.values():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))


def test_the_stages_that_are_built_are_there() -> None:
    stages = dockerfile.stages(ROOT / "deploy" / "image" / "Dockerfile")
    for name in OURS:
        build = SERVICES[name]["build"]
        assert (FILE.parent / build["context"]).resolve() == ROOT
        assert build["target"] in stages


def test_the_commands_are_understood() -> None:
    parser().parse_args(SERVICES["topics"]["command"])
    stages = dockerfile.stages(ROOT / "deploy" / "image" / "Dockerfile")
    module = stages["fleet"].exec_form("ENTRYPOINT")[2]
    shown = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", module, "--help"], capture_output=True, text=True, check=True
    ).stdout
    for word in SERVICES["fleet"]["command"]:
        assert not word.startswith("--") or word in shown


def test_the_agent_may_drain_before_it_is_ended() -> None:
    agent = SERVICES["agent"]
    drain = config.load(FILE.parent / "agent.toml", agent["environment"]).agent.drain_deadline
    assert duration("stop_grace_period", agent["stop_grace_period"]) > 2 * drain


def test_prometheus_finds_the_agent_by_its_services_name() -> None:
    prometheus = yaml.safe_load((ROOT / "deploy" / "prometheus" / "prometheus.yml").read_text())
    (job,) = prometheus["scrape_configs"]
    (asked,) = job["dns_sd_configs"]
    assert set(asked["names"]) <= SERVICES.keys()


def test_prometheus_keeps_as_much_as_rules_look_back_over() -> None:
    """So that nothing is empty, or silent, for half of a month."""
    [kept] = [
        word.partition("=")[2]
        for word in SERVICES["prometheus"]["command"]
        if word.startswith("--storage.tsdb.retention.time=")
    ]
    assert (
        duration("kept", kept) > duration("range", LONGEST.partition(":")[0]) >= 2 * 31 * 86_400_000
    )


def test_grafana_finds_what_is_mounted() -> None:
    provisioning = ROOT / "deploy" / "grafana" / "provisioning"
    (source,) = yaml.safe_load((provisioning / "datasources" / "prometheus.yml").read_text())[
        "datasources"
    ]
    assert re.fullmatch(r"http://(\w+):9090", source["url"])
    assert source["url"].split("/")[2].split(":")[0] in SERVICES
    (provider,) = yaml.safe_load((provisioning / "dashboards" / "meteragent.yml").read_text())[
        "providers"
    ]
    mounts = [mount.split(":")[1] for mount in SERVICES["grafana"]["volumes"]]
    assert provider["options"]["path"] in mounts
