"""The gateway's unit is as closed as the agent's; and all that it needs is there for 64-bit ARM."""

from __future__ import annotations

import configparser
import os
import subprocess
import sys
from pathlib import Path

import pytest

from meteragent import config
from meteragent.commands.exit_codes import Exit
from meteragent.commands.parser import parser
from meteragent.privacy.units import duration
from tests.deploy.test_service import MOST_EXPOSED, analyze
from tests.files.given import CONFIGURATION, lively, write_key

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
    said = wheels_for_arm(version, tmp_path, "--dry-run")
    assert "aiomqtt" in said
    assert "numpy" in said


def wheels_for_arm(version: str, directory: Path, *more: str) -> str:
    """Install all that is locked into a directory; what pip says."""
    platforms = [f"manylinux{one}_aarch64" for one in ("2014", "_2_17", "_2_28")]
    words = [sys.executable, "-m", "pip", "install", "--no-deps", "--require-hashes", *more]
    words += ["--ignore-installed", "--only-binary=:all:", f"--python-version={version}"]
    words += [f"--target={directory}", "--implementation=cp"]
    words += [word for one in platforms for word in ("--platform", one)]
    return said([*words, "-r", str(ROOT / "requirements.lock")])


def said(words: list[str], **environment: str) -> str:
    """What a command prints, which must succeed."""
    done = subprocess.run(  # noqa: S603 - a fixed command
        words, capture_output=True, text=True, check=False,
        env={**os.environ, **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def of_debian(directory: Path, architecture: str, *packages: str) -> Path:
    """Packages with all that they depend on, unpacked; an apt of its own, so nothing is installed.

    Its lists are those that the machine's sources name.
    """
    state, root = directory / "apt", directory / architecture
    (state / "lists" / "partial").mkdir(parents=True)
    (state / "archives" / "partial").mkdir(parents=True)
    (state / "status").touch()
    options = [
        *(f"APT::Architecture={architecture}", f"APT::Architectures={architecture}"),
        *(f"Dir::State={state}", f"Dir::State::status={state}/status", f"Dir::Cache={state}"),
    ]
    apt = ["apt-get", "--quiet=2", *(f"--option={one}" for one in options)]
    said([*apt, "update"])
    said([*apt, "install", "--download-only", "--yes", "--no-install-recommends", *packages])
    for package in (state / "archives").glob("*.deb"):
        said(["dpkg", "--extract", str(package), str(root)])
    return root


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_what_is_released_on_64_bit_arm_is_what_is_released_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Debian's Python and the locked wheels for ARM, under Debian's qemu-user."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    here = said(["dpkg", "--print-architecture"]).strip()
    qemu = of_debian(tmp_path / "qemu", here, "qemu-user-static") / "usr/bin/qemu-aarch64-static"
    root = of_debian(tmp_path / "python", "arm64", "python3", "libstdc++6")
    python = root / "usr" / "bin" / (root / "usr" / "bin" / "python3").readlink()
    wheels_for_arm(python.name.removeprefix("python"), tmp_path / "site")
    (tmp_path / "agent.toml").write_text(CONFIGURATION)
    (tmp_path / "in.jsonl").write_bytes(lively(2000))
    write_key(tmp_path)
    on_arm = [str(qemu), "-L", str(root), str(python)]
    path = f"{ROOT}:{tmp_path}/site"
    machine = said([*on_arm, "-c", "import os, numpy; print(os.uname().machine)"], PYTHONPATH=path)
    assert machine.split() == ["aarch64"]
    for name, one in (("here", [sys.executable]), ("arm", on_arm)):
        words = ["-m", "meteragent", "sanitize", "in.jsonl", "-o", f"{name}.jsonl"]
        words += ["--ledger", f"{name}.db", "-c", "agent.toml"]
        said([*one, *words], PYTHONPATH=path if one is on_arm else str(ROOT))
    released = (tmp_path / "here.jsonl").read_bytes()
    assert released.count(b"\n") > 50
    assert (tmp_path / "arm.jsonl").read_bytes() == released
