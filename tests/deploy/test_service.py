"""The systemd unit: well formed, closed, and told of by what it starts."""

from __future__ import annotations

import configparser
import subprocess
from pathlib import Path

import pytest

from meteragent import config
from meteragent.commands.exit_codes import Exit
from meteragent.commands.parser import parser
from meteragent.privacy.units import duration

SYSTEMD = Path(__file__).resolve().parents[2] / "deploy" / "systemd"
UNIT = SYSTEMD / "meteragent.service"
MOST_EXPOSED = 2.0


def analyze(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - a fixed command
        ["systemd-analyze", *words],  # noqa: S607 - found as a shell would
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def service() -> configparser.SectionProxy:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read(UNIT)
    return unit["Service"]


def verified(unit: Path, image: Path) -> str:
    """What `systemd-analyze verify` says where the image's /opt is this machine's."""
    script = 'mount --bind "$1/opt" /opt && exec systemd-analyze verify --man=no "$2"'
    done = subprocess.run(  # noqa: S603 - our own script
        ["/usr/bin/unshare", "--mount", "sh", "-euc", script, "sh", image, unit],
        capture_output=True,
        text=True,
        check=False,
    )
    return f"{done.stdout}{done.stderr}" or ("" if done.returncode == 0 else "failed")


def test_systemd_has_nothing_to_object_to(image: Path) -> None:
    assert verified(UNIT, image) == ""


def test_systemd_would_find_a_mistake(image: Path, tmp_path: Path) -> None:
    wrong = tmp_path / UNIT.name
    wrong.write_text(UNIT.read_text().replace("WatchdogSec=", "WatchdogSecs="))
    assert "WatchdogSecs" in verified(wrong, image)
    wrong.write_text(UNIT.read_text().replace("bin/meteragent run", "bin/metragent run"))
    assert "metragent" in verified(wrong, image)


def test_the_unit_is_hardly_exposed() -> None:
    told = analyze("security", "--offline=true", "--no-pager", str(UNIT)).stdout
    summary = told.splitlines()[-1]
    exposure = float(summary.partition("meteragent.service: ")[2].split()[0])
    assert exposure <= MOST_EXPOSED


def test_without_its_sandbox_it_would_be(tmp_path: Path) -> None:
    bare = tmp_path / UNIT.name
    bare.write_text("[Service]\nType=notify\nUser=meteragent\nExecStart=/bin/true\n")
    told = analyze("security", "--offline=true", "--no-pager", "--threshold=20", str(bare))
    assert told.returncode != 0


def test_what_it_starts_is_understood(service: configparser.SectionProxy) -> None:
    for name in ("ExecStartPre", "ExecStart"):
        program, *words = service[name].split()
        assert program == "/opt/meteragent/bin/meteragent"
        given = parser().parse_args(words)
        assert str(given.config) == "/etc/meteragent/agent.toml"
    assert parser().parse_args(service["ExecStartPre"].split()[1:]).offline


def test_it_hands_over_the_credential_that_the_example_asks_for(
    service: configparser.SectionProxy,
) -> None:
    name, _, path = service["LoadCredential"].partition(":")
    file = config.load(SYSTEMD / "agent.toml", {"CREDENTIALS_DIRECTORY": "/c"}).agent.key_file
    assert file is not None
    assert str(file.path) == f"/c/{name}"
    assert path in (SYSTEMD / "meteragent.tmpfiles").read_text()


def test_deadlines_fit_together(service: configparser.SectionProxy) -> None:
    agent = config.load(SYSTEMD / "agent.toml", {"CREDENTIALS_DIRECTORY": "/c"}).agent
    assert duration("", service["TimeoutStopSec"]) > 2 * agent.drain_deadline
    assert duration("", service["WatchdogSec"]) >= 4_000
    assert service["Type"] == "notify"


def test_what_waiting_does_not_mend_is_not_started_again(
    service: configparser.SectionProxy,
) -> None:
    codes = [int(code) for code in service["RestartPreventExitStatus"].split()]
    ledger = [Exit.LOST, Exit.OWNER, Exit.SUPERSEDED]
    assert codes == [Exit.USAGE, Exit.CONFIGURATION, Exit.KEY, *ledger]


def test_its_user_is_made(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    subprocess.run(  # noqa: S603 - a fixed command
        ["systemd-sysusers", f"--root={tmp_path}", SYSTEMD / "meteragent.sysusers"],  # noqa: S607
        check=True,
        capture_output=True,
    )
    assert "meteragent:" in (tmp_path / "etc" / "passwd").read_text()


def test_its_files_get_their_rights(tmp_path: Path) -> None:
    home = tmp_path / "etc" / "meteragent"
    home.mkdir(parents=True)
    (home / "noise.key").touch(0o644)
    (tmp_path / "etc" / "passwd").write_text("root:x:0:0::/:\nmeteragent:x:5:5::/:\n")
    (tmp_path / "etc" / "group").write_text("root:x:0:\nmeteragent:x:5:\n")
    subprocess.run(  # noqa: S603 - a fixed command
        [
            *("systemd-tmpfiles", f"--root={tmp_path}", "--create"),
            SYSTEMD / "meteragent.tmpfiles",
        ],
        check=True,
        capture_output=True,
    )
    assert home.stat().st_mode & 0o777 == 0o750
    assert (home / "noise.key").stat().st_mode & 0o777 == 0o400
