"""In a Debian that is made for it: the image as `docker build` has it, the unit under systemd."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from meteragent.config import keyfile
from tests.deploy.image import DOCKERFILE, ROOT, made
from tests.deploy.test_image import (  # noqa: F401 - run once more, with this module's image
    cell,
    test_it_is_small,
    test_it_sanitizes_with_nothing_to_write_to,
    test_it_says_help_and_checks,
    test_nothing_in_it_gives_rights_or_is_open_to_write,
    test_there_is_no_program_but_python_and_the_agent,
    test_what_is_installed_is_what_is_locked,
)
from tests.integration.fleet import QUICK
from tests.integration.local_broker import Broker

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.slow, pytest.mark.integration]

SYSTEMD = ROOT / "deploy" / "systemd"
WANTED = "etc/systemd/system/multi-user.target.wants/meteragent.service"


@pytest.fixture(scope="module")
def debian() -> Iterator[Path]:
    """The release that the Dockerfile names, with systemd."""
    release = DOCKERFILE.read_text().partition("ARG DEBIAN=")[2].split()[0]
    packages = "--include=systemd,systemd-sysv,dbus,python3"
    with tempfile.TemporaryDirectory(prefix="meteragent-debian-") as directory:
        Path(directory).chmod(0o755)
        subprocess.run(  # noqa: S603 - a fixed command
            ["/usr/sbin/debootstrap", "--variant=minbase", packages, release, directory],
            check=True,
            capture_output=True,
        )
        yield Path(directory)


@pytest.fixture(scope="module")
def image(debian: Path) -> Iterator[Path]:
    with made(debian) as root:
        yield root


@contextmanager
def booted(debian: Path, image: Path, etc: Path, log: Path) -> Iterator[None]:
    """A machine that starts the service, and says on its console what systemd says."""
    wanted = debian / WANTED
    wanted.parent.mkdir(parents=True, exist_ok=True)
    wanted.symlink_to("/etc/systemd/system/meteragent.service")
    shown = {
        "/opt/meteragent": image / "opt/meteragent",
        "/etc/meteragent": etc,
        "/etc/systemd/system/meteragent.service": SYSTEMD / "meteragent.service",
        "/etc/sysusers.d/meteragent.conf": SYSTEMD / "meteragent.sysusers",
    }
    with log.open("wb") as console:
        machine = subprocess.Popen(  # noqa: S603 - our own command
            [
                *("/usr/bin/systemd-nspawn", "--quiet", f"--directory={debian}", "--boot"),
                *("--register=no", "--keep-unit"),
                *(f"--bind-ro={what}:{where}" for where, what in shown.items()),
                *("systemd.unit=multi-user.target", "systemd.journald.forward_to_console=1"),
            ],
            stdout=console,
            stderr=console,
            env={"PATH": "/usr/bin:/usr/sbin", "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"},
        )
    try:
        yield
    finally:
        machine.terminate()
        machine.wait(60)


def until(log: Path, said: str, times: int = 1) -> None:
    end = time.monotonic() + 150
    while log.read_text(errors="replace").count(said) < times:
        assert time.monotonic() < end, log.read_text(errors="replace")[-3000:]
        time.sleep(0.5)


def test_systemd_starts_it_in_its_sandbox_and_again_when_it_stands_still(
    debian: Path, image: Path, tmp_path: Path
) -> None:
    broker, etc, log = Broker(tmp_path / "kafka"), tmp_path / "etc", tmp_path / "console"
    servers = broker("start", *QUICK)["bootstrap"]
    etc.mkdir()
    text = (SYSTEMD / "agent.toml").read_text().replace("localhost:9092", servers)
    text = text.replace("[agent]", '[agent]\nprogress_deadline = "5s"')
    (etc / "agent.toml").write_text(f"{text}\n[http]\nport = 0\n")
    keyfile.create(etc / "noise.key")
    topics = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "meteragent", "topics", "create", "-c", etc / "agent.toml"],
        env={"CREDENTIALS_DIRECTORY": str(tmp_path)},
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    assert topics.returncode == 0, topics.stderr
    try:
        with booted(debian, image, etc, log):
            until(log, "Started meteragent.service")
            broker("freeze", "1")
            until(log, "Watchdog timeout")
            broker("thaw", "1")
            until(log, "Started meteragent.service", times=2)
    finally:
        broker("stop")
