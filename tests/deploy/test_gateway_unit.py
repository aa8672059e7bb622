"""The gateway's unit is as closed as the agent's; and all that it needs is there for 64-bit ARM."""

from __future__ import annotations

import configparser
import subprocess
import sys
from pathlib import Path

import pytest

from meteragent import config
from meteragent.commands.exit_codes import Exit
from meteragent.commands.parser import parser
from meteragent.privacy.units import duration
from tests.deploy.test_service import MOST_EXPOSED, analyze

ROOT = Path(__file__).resolve().parents[2]
SYSTEMD = ROOT / "deploy" / "systemd"
UNIT = SYSTEMD / "meteragent-gateway.service"


@pytest.fixture(scope="module")
def service() -> configparser.SectionProxy:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read(UNIT)
    return unit["Service"]


def test_it_is_hardly_exposed() -> None:
    told = analyze("security", "--offline=true", "--no-pager", str(UNIT)).stdout
    summary = told.splitlines()[-1]
    assert float(summary.partition(f"{UNIT.name}: ")[2].split()[0]) <= MOST_EXPOSED


def test_what_it_starts_is_understood_and_may_write_what_it_must(
    service: configparser.SectionProxy,
) -> None:
    for name in ("ExecStartPre", "ExecStart"):
        given = parser().parse_args(service[name].split()[1:])
        assert str(given.config) == "/etc/meteragent/gateway.toml"
    mqtt = config.load(SYSTEMD / "gateway.toml", {"CREDENTIALS_DIRECTORY": "/c"}).mqtt
    state = Path("/var/lib") / service["StateDirectory"]
    assert {mqtt.ledger.parent, mqtt.journal.parent} == {state}


def test_deadlines_and_codes_are_those_of_the_gateway(service: configparser.SectionProxy) -> None:
    agent = config.load(SYSTEMD / "gateway.toml", {"CREDENTIALS_DIRECTORY": "/c"}).agent
    assert duration("", service["TimeoutStopSec"]) > 2 * agent.drain_deadline
    codes = {int(code) for code in service["RestartPreventExitStatus"].split()}
    assert {Exit.USAGE, Exit.CONFIGURATION, Exit.KEY, Exit.LOST, Exit.OWNER} <= codes


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.11", "3.13"])
def test_every_locked_dependency_has_a_wheel_for_arm(version: str, tmp_path: Path) -> None:
    platforms = [f"manylinux{one}_aarch64" for one in ("2014", "_2_17", "_2_28")]
    words = [sys.executable, "-m", "pip", "install", "--dry-run", "--no-deps", "--require-hashes"]
    words += ["--ignore-installed", "--only-binary=:all:", f"--python-version={version}"]
    words += [f"--target={tmp_path}", "--implementation=cp"]
    words += [word for one in platforms for word in ("--platform", one)]
    done = subprocess.run(  # noqa: S603 - a fixed command
        [*words, "-r", ROOT / "requirements.lock"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "aiomqtt" in done.stdout
    assert "numpy" in done.stdout
