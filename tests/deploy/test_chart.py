"""The chart, rendered by Helm and held against the schemas of what it makes."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
import tomllib
from typing import TYPE_CHECKING, Any

import jsonschema
import kubernetes_validate
import pytest
import yaml

from deploy.helm import schema
from meteragent import config
from meteragent.config import keyfile
from meteragent.config.fields import Settings
from tests.deploy import helm, schemas

if TYPE_CHECKING:
    from pathlib import Path

DEPLOY = helm.CHART.parents[1]
ALL = {
    "autoscaling": {"enabled": True},
    "monitoring": {"enabled": True, "labels": {"release": "prometheus"}},
    "image": {"digest": f"sha256:{'0' * 64}", "pullSecrets": [{"name": "registry"}]},
    "files": {"ca.pem": "-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----\n"},
    "config": {
        "agent": {"max_meters": 2_000_000, "drain_deadline": "30s"},
        "kafka": {
            "bootstrap_servers": ["kafka-1:9093", "kafka-2:9093"],
            "security": {
                "protocol": "SASL_SSL",
                "ca_file": "ca.pem",
                "mechanism": "SCRAM-SHA-512",
                "username": 'quoted "user" <&>',
                "password_file": "credential:kafka-password",
            },
        },
    },
    "podAnnotations": {"a": "b"},
    "podLabels": {"c": "d"},
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "metering", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {}},
}
"""Everything that can be set, set."""


def of_kind(manifests: list[helm.Manifest], kind: str) -> helm.Manifest:
    (found,) = [m for m in manifests if m["kind"] == kind]
    return found


def pod(manifests: list[helm.Manifest]) -> dict[str, Any]:
    spec: dict[str, Any] = of_kind(manifests, "StatefulSet")["spec"]["template"]["spec"]
    return spec


def agent(manifests: list[helm.Manifest]) -> dict[str, Any]:
    (container,) = pod(manifests)["containers"]
    made: dict[str, Any] = container
    return made


def agent_toml(manifests: list[helm.Manifest]) -> str:
    found = [m["data"]["agent.toml"] for m in manifests if "agent.toml" in m.get("data", {})]
    text: str = found[0]
    return text


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> list[helm.Manifest]:
    return helm.rendered(tmp_path_factory.mktemp("chart"))


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> list[helm.Manifest]:
    return helm.rendered(tmp_path_factory.mktemp("chart"), ALL)


def test_helm_finds_nothing_to_object_to() -> None:
    assert "[WARNING]" not in helm.linted()


def test_what_is_made_by_default_and_with_everything_obeys_the_schemas(
    made: list[helm.Manifest], full: list[helm.Manifest]
) -> None:
    kinds = {manifest["kind"] for manifest in full}
    assert kinds - {manifest["kind"] for manifest in made} == {
        *("HorizontalPodAutoscaler", "ServiceMonitor", "PrometheusRule"),
    }
    assert kinds >= {"StatefulSet", "ConfigMap", "PodDisruptionBudget", "NetworkPolicy", "Service"}
    for manifest in (*made, *full):
        schemas.validate(manifest)


@pytest.mark.parametrize(
    ("kind", "field"),
    [("StatefulSet", "replica"), ("ServiceMonitor", "endpoint"), ("PrometheusRule", "rules")],
)
def test_a_field_that_is_not_known_is_found(
    full: list[helm.Manifest], kind: str, field: str
) -> None:
    manifest = of_kind(full, kind)
    wrong = manifest | {"spec": manifest["spec"] | {field: 1}}
    with pytest.raises((jsonschema.ValidationError, kubernetes_validate.ValidationError)):
        schemas.validate(wrong)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"replica": 3}, "replica"),
        ({"replicas": "three"}, "replicas"),
        ({"replicas": 0}, "replicas"),
        ({"image": {"digest": "latest"}}, "digest"),
        ({"config": {"agent": {"comit_interval": "1s"}}}, "comit_interval"),
        ({"config": {"agent": {"commit_interval": 1}}}, "commit_interval"),
        ({"config": {"agent": {"key": "00"}}}, "key"),
        ({"config": {"kafka": {"security": {"protocol": "TLS"}}}}, "protocol"),
        ({"config": {"policy": []}}, "policy"),
        ({"config": {"policy": [{"name": "household"}]}}, "window"),
        ({"config": {"http": {"port": 80}}}, "port"),
        ({"networkPolicy": {"brokers": {"port": "kafka"}}}, "port"),
        ({"secretName": ""}, "secretName"),
    ],
)
def test_a_bad_value_is_refused_and_named(
    tmp_path: Path, values: dict[str, object], said: str
) -> None:
    with pytest.raises(helm.HelmRefused, match=rf"(?s)don't meet the spec.*{said}"):
        helm.rendered(tmp_path, values)


def test_the_schema_of_the_values_is_fresh() -> None:
    """If not: python -m deploy.helm.schema"""
    assert schema.FILE.read_text() == schema.text()


def test_every_default_is_described() -> None:
    values = yaml.safe_load((helm.CHART / "values.yaml").read_text())
    known = schema.schema()["properties"]
    assert values.keys() <= known.keys()
    for name in ("image", "autoscaling", "podDisruptionBudget", "networkPolicy", "monitoring"):
        assert known[name]["properties"].keys() == values[name].keys()


@pytest.mark.parametrize("which", ["made", "full"])
def test_the_agent_accepts_the_configuration(
    request: pytest.FixtureRequest, tmp_path: Path, which: str
) -> None:
    manifests = request.getfixturevalue(which)
    (tmp_path / "agent.toml").write_text(agent_toml(manifests))
    given = {one["name"]: one["value"] for one in agent(manifests)["env"]}
    loaded = config.load(tmp_path / "agent.toml", given)
    keyfile.create(tmp_path / "noise-key")
    assert loaded.http.host == "0.0.0.0"  # noqa: S104 - in a pod of its own
    assert loaded.agent.key_file is not None
    assert loaded.agent.key_file.credential
    ready = agent(manifests)["ports"][0]["containerPort"]
    assert loaded.http.port == ready


def test_values_reach_the_agent_unchanged(full: list[helm.Manifest]) -> None:
    written = tomllib.loads(agent_toml(full))
    defaults = yaml.safe_load((helm.CHART / "values.yaml").read_text())["config"]
    given: Any = ALL["config"]
    assert written["agent"] == defaults["agent"] | given["agent"]
    assert written["kafka"] == given["kafka"]
    assert written["policy"] == defaults["policy"]


def test_pods_are_what_restricted_pod_security_asks_for(full: list[helm.Manifest]) -> None:
    spec = pod(full)
    assert spec["securityContext"]["runAsNonRoot"]
    assert spec["securityContext"]["runAsUser"] > 0
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not spec["automountServiceAccountToken"]
    assert not {"hostNetwork", "hostPID", "hostIPC"} & spec.keys()
    assert {next(iter(v.keys() - {"name"})) for v in spec["volumes"]} == {"configMap", "secret"}
    for container in (*spec["initContainers"], *spec["containers"]):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "privileged": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert all(mount["readOnly"] for mount in container["volumeMounts"])


def test_a_pod_may_drain_before_it_is_ended(made: list[helm.Manifest], tmp_path: Path) -> None:
    (tmp_path / "agent.toml").write_text(agent_toml(made))
    drain = config.load(tmp_path / "agent.toml", {"CREDENTIALS_DIRECTORY": "/x"}).agent
    assert pod(made)["terminationGracePeriodSeconds"] * 1000 > 2 * drain.drain_deadline


def test_probes_ask_what_the_agent_answers(made: list[helm.Manifest], tmp_path: Path) -> None:
    container = agent(made)
    assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert container["livenessProbe"]["httpGet"]["scheme"] == "HTTP"
    tls = {"config": {"http": {"cert_file": "tls.pem", "key_file": "credential:tls-key"}}}
    safe = agent(helm.rendered(tmp_path, tls))
    assert safe["livenessProbe"]["httpGet"]["scheme"] == "HTTPS"


def test_scaling_follows_the_lag_that_agents_export(full: list[helm.Manifest]) -> None:
    scaler = of_kind(full, "HorizontalPodAutoscaler")["spec"]
    wanted = scaler["metrics"][0]["pods"]["metric"]["name"]
    adapter = yaml.safe_load((helm.CHART.parent / "prometheus-adapter.yaml").read_text())
    (rule,) = adapter["rules"]["custom"]
    assert rule["name"]["as"] == wanted
    assert rule["seriesQuery"].startswith(f"{wanted}{{")
    assert "replicas" not in of_kind(full, "StatefulSet")["spec"]
    source = (DEPLOY.parent / "meteragent" / "watch" / "gauges.py").read_text()
    assert f'"{wanted.removeprefix("meteragent_")}"' in source


def test_the_adapters_query_is_one_that_prometheus_understands(tmp_path: Path) -> None:
    adapter = yaml.safe_load((helm.CHART.parent / "prometheus-adapter.yaml").read_text())
    (rule,) = adapter["rules"]["custom"]
    query = rule["metricsQuery"]
    for template, value in (
        ("<<.GroupBy>>", "pod"),
        ("<<.Series>>", rule["name"]["as"]),
        ("<<.LabelMatchers>>", 'namespace="metering"'),
    ):
        query = query.replace(template, value)
    rules = {"groups": [{"name": "adapter", "rules": [{"record": "lag", "expr": query}]}]}
    (tmp_path / "rules.yml").write_text(yaml.safe_dump(rules))
    subprocess.run(  # noqa: S603 - a fixed command
        ["promtool", "check", "rules", tmp_path / "rules.yml"],  # noqa: S607 - as a shell would
        check=True,
        capture_output=True,
    )


def test_runbooks_are_linked_to_where_they_were_put(tmp_path: Path) -> None:
    page = "https://wiki.example/runbooks"
    monitoring = {"enabled": True, "runbooks": {"url": page}}
    groups = of_kind(helm.rendered(tmp_path, {"monitoring": monitoring}), "PrometheusRule")
    alerts = [
        rule for group in groups["spec"]["groups"] for rule in group["rules"] if "alert" in rule
    ]
    assert alerts
    for alert in alerts:
        assert alert["annotations"]["runbook_url"] == f"{page}#{alert['alert'].lower()}"
    with pytest.raises(helm.HelmRefused, match="url"):
        helm.rendered(tmp_path, {"monitoring": {"runbooks": {"url": "runbooks.md"}}})


def test_alerts_and_dashboards_are_those_of_the_project(full: list[helm.Manifest]) -> None:
    groups = of_kind(full, "PrometheusRule")["spec"]["groups"]
    written = [
        group
        for name in ("rules.yml", "alerts.yml")
        for group in yaml.safe_load((DEPLOY / "prometheus" / name).read_text())["groups"]
    ]
    assert groups == written
    shown = {
        name: json.loads(content)
        for manifest in full
        for name, content in manifest.get("data", {}).items()
        if name.endswith(".json")
    }
    files = sorted((DEPLOY / "grafana").glob("*.json"))
    assert shown == {file.name: json.loads(file.read_text()) for file in files}
    assert shown


def test_the_packaged_chart_is_whole(tmp_path: Path, full: list[helm.Manifest]) -> None:
    with tarfile.open(helm.packaged(tmp_path)) as archive:
        archive.extractall(tmp_path, filter="data")
    assert helm.rendered(tmp_path, ALL, tmp_path / "meteragent") == full
    shutil.rmtree(tmp_path / "meteragent")


def test_every_setting_of_the_models_can_be_given() -> None:
    """But for secrets, and for what the chart itself decides."""
    tables = schema.table(Settings)
    assert tables["properties"] == {}
    offered = schema.table(config.Config)["properties"]
    assert offered.keys() == config.Config.model_fields.keys()
    assert "key" not in offered["agent"]["properties"]
    assert "password" not in offered["kafka"]["properties"]["security"]["properties"]
