"""What is shipped to start from protects: each example is rendered, checked and explained.

A bound that does not protect, or a warning, fails, unless it is named here with its reason.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest
import yaml

from meteragent import config
from meteragent.cli import main
from meteragent.commands import explain
from meteragent.commands.exit_codes import Exit
from meteragent.commands.parser import parser
from meteragent.commands.settings import settings
from meteragent.config import Config, from_document, keyfile
from meteragent.config.presets import presets
from meteragent.explain import advice
from meteragent.explain.explain import explain as explained
from meteragent.explain.words import listed, protects
from simulations.demo.stage import CONFIGURATION
from tests.deploy import helm
from tests.docs.test_commands import of_ours
from tests.docs.test_readme import ROOT, blocks

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from meteragent.explain.document import Explanation

DEPLOY = ROOT / "deploy"
BIG = "what takes kWh of a day is told by any average that is of use, and is not what it hides"
GAPS = "only where readings are missing; without a gap its odds are bounded, and small"

KWH = ("oven", "heat pump", "EV charge", "empty house")
TOLD = {
    "appliances": dict.fromkeys(KWH, BIG),
    "tv-content": dict.fromkeys(("washing machine", *KWH), BIG),
    "presence": dict.fromkeys(("EV charge", "empty house"), GAPS),
    "bill": dict.fromkeys(("washing machine", *KWH), BIG),
    "hourly": dict.fromkeys(("washing machine", *KWH), BIG),
    "street": dict.fromkeys(("washing machine", *KWH), BIG),
}
"""Loads that have no bound, or are told in most cases, and why that is accepted."""


def chart(directory: Path, **values: object) -> str:
    """What the chart hands to the agent."""
    manifests = helm.rendered(directory, {"config": values} if values else None)
    [text] = [m["data"]["agent.toml"] for m in manifests if "agent.toml" in m.get("data", {})]
    return str(text)


def of_file(name: str) -> Callable[[Path], str]:
    return lambda _: (DEPLOY / name).read_text()


FILES: dict[str, tuple[str, Callable[[Path], str]]] = {
    "agent.toml": ("appliances", of_file("agent.toml")),
    "compose": ("appliances", of_file("compose/agent.toml")),
    "systemd": ("appliances", of_file("systemd/agent.toml")),
    "gateway": ("appliances", of_file("systemd/gateway.toml")),
    "helm": ("appliances", chart),
    "README": ("appliances", lambda _: blocks("toml")[0]),
    "demo": ("hourly", lambda _: CONFIGURATION.format(servers="localhost:9092")),
}
"""Name -> what it may tell, and its text."""


def loaded(directory: Path, text: str) -> Config:
    """As an agent would: with a key where the example wants it, and `check` content."""
    (directory / "agent.toml").write_text(text.replace("/var/lib/meteragent", str(directory)))
    for name in ("noise.key", "noise-key"):
        keyfile.create(directory / name)
    return config.load(directory / "agent.toml", {"CREDENTIALS_DIRECTORY": str(directory)})


def judge(said: Explanation, kind: str) -> None:
    """Fail where there is no bound, or a warning that is not accepted."""
    for bound in (said.guarantee.one_release, said.guarantee.one_horizon):
        assert protects(bound.log_odds), said.guarantee.sentences
    assert protects(said.guarantee.any_horizon.log_odds), said.guarantee.sentences
    shown = [seen.load for seen in said.loads if seen.right.once > advice.TOLD]
    unbounded = [seen.load for seen in said.loads if not protects(seen.together.log_odds)]
    told = [seen.load for seen in said.loads if seen.load in {*shown, *unbounded}]
    assert told == list(TOLD[kind]), "no bound, or one that is accepted and need not be"
    beginnings = [f"Effectively not hidden: {listed(shown)}."] if shown else []
    assert len(said.warnings) == len(beginnings), said.warnings
    assert all(map(str.startswith, said.warnings, beginnings)), said.warnings


@pytest.mark.parametrize("name", FILES)
def test_an_example_is_a_preset_that_checks_and_protects(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kind, text = FILES[name]
    example = loaded(tmp_path, text(tmp_path))
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    strict = [] if example.group else ["--strict"]  # a group has no preset that says what it hides
    assert main(["check", "--offline", *strict, "-c", str(tmp_path / "agent.toml")]) == Exit.OK
    assert "--strict" not in capsys.readouterr().err
    assert all(policy.preset is not None for policy in example.policy)
    groups = {one.name for one in example.group}
    for said in explain.explanations(example):
        judge(said, said.name if said.name in groups else kind)


@pytest.mark.parametrize("command", [one for one in of_ours() if "--preset" in one])
def test_a_command_of_the_readme_protects(command: str) -> None:
    given = parser().parse_args(shlex.split(command))
    kind = given.preset if given.window is None else "hourly"
    [said] = explain.explanations(settings(given))
    judge(said, kind)


# Every preset as it is, wherever an agent is configured.


@pytest.mark.parametrize("preset", presets())
@pytest.mark.parametrize("name", ["agent.toml", "compose", "systemd", "helm"])
def test_a_preset_is_usable_as_it_is(name: str, preset: str, tmp_path: Path) -> None:
    policy = {"name": "homes", "preset": preset}
    if name == "helm":
        text = chart(tmp_path, policy=[policy])
    else:
        lines = "\n".join(f'{key} = "{value}"' for key, value in policy.items())
        text = f"{FILES[name][1](tmp_path).partition('[[policy]]')[0]}\n[[policy]]\n{lines}\n"
    [used] = loaded(tmp_path, text).policy
    [own] = from_document({"policy": [policy]}, tmp_path, {}).policy
    assert used.policy == own.policy
    judge(explained(used.guarantee), preset)


@pytest.mark.parametrize("policy", [{"preset": "films"}, {"preset": "tv-content", "windw": "1h"}])
def test_the_chart_refuses_what_is_no_preset(policy: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(helm.HelmRefused, match=r"preset|windw"):
        chart(tmp_path, policy=[{"name": "homes", **policy}])


def test_what_does_not_protect_is_found(tmp_path: Path) -> None:
    """What was shipped with 0.1, a budget twice as large, a query more, windows that miss out."""
    old: dict[str, object] = {
        "window": "15m",
        "interval": "10s",
        "maximum": "24kW",
        "epsilon": "1",
        "budget": "96",
    }
    mistakes: tuple[dict[str, object], ...] = (
        old,
        {"preset": "appliances", "epsilon": "2", "budget": "14"},
        {"preset": "appliances", "queries": ["avg", "max(15m)"], "budget": "14"},
        {"preset": "appliances", "budget": "3"},
    )
    for wrong in mistakes:
        [policy] = from_document({"policy": [{"name": "homes", **wrong}]}, tmp_path, {}).policy
        with pytest.raises(AssertionError):
            judge(explained(policy.guarantee), str(wrong.get("preset", "appliances")))


def test_nothing_is_configured_that_is_not_judged() -> None:
    """Every agent.toml and gateway.toml of the project, and the chart's values."""
    found = {
        path.relative_to(DEPLOY).as_posix()
        for name in ("agent.toml", "gateway.toml")
        for path in DEPLOY.rglob(name)
        if ".tools" not in path.parts
    }
    assert found == {
        *("agent.toml", "compose/agent.toml", "systemd/agent.toml"),
        "systemd/gateway.toml",
    }
    values = yaml.safe_load((helm.CHART / "values.yaml").read_text())
    assert [policy["preset"] for policy in values["config"]["policy"]] == ["appliances"]
