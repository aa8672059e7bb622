"""What the Dockerfile's steps make, carried out here: it is small, closed, and it works."""

from __future__ import annotations

import json
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from meteragent.config import keyfile
from tests.deploy import dockerfile
from tests.deploy.image import DOCKERFILE, ROOT, STAGES, USER, Cell, owned

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_BYTES = 200e6
DAY = 8640
READINGS = "".join(
    json.dumps(
        {
            "meter_id": "m-1",
            "start": 1_763_424_000_000 + 10_000 * DAY * day,
            "interval_ms": 10_000,
            "values": [400] * DAY,
        }
    )
    + "\n"
    for day in range(2)
)


@pytest.fixture
def cell(image: Path) -> Iterator[Cell]:
    """With an example's configuration and a key, as compose and the chart mount them."""
    with tempfile.TemporaryDirectory() as directory:
        config, secrets = Path(directory) / "config", Path(directory) / "secrets"
        config.mkdir()
        secrets.mkdir()
        shutil.copy(ROOT / "deploy" / "systemd" / "agent.toml", config)
        keyfile.create(secrets / "noise-key")
        owned(Path(directory))
        yield Cell(image, shown={"/etc/meteragent": config, "/run/secrets": secrets})


def test_the_dockerfile_has_nothing_that_the_linter_objects_to() -> None:
    done = subprocess.run(  # noqa: S603 - a fixed command
        [Path(sys.executable).parent / "hadolint", DOCKERFILE],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_the_linter_would_find_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM debian\nRUN sudo apt-get install python3\n")
    done = subprocess.run(  # noqa: S603 - a fixed command
        [Path(sys.executable).parent / "hadolint", tmp_path / "Dockerfile"],
        capture_output=True,
        check=False,
    )
    assert done.returncode != 0


def test_without_a_target_the_agent_is_built() -> None:
    assert list(STAGES)[-1] == ""
    assert STAGES[""].base == "agent"
    assert STAGES[""].described == STAGES["agent"].described


def test_an_instruction_that_is_not_known_here_is_refused(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM debian AS x\nONBUILD RUN true\n")
    with pytest.raises(ValueError, match="ONBUILD"):
        dockerfile.stages(tmp_path / "Dockerfile")


def test_there_is_no_program_but_python_and_the_agent(image: Path) -> None:
    programs = {
        path.name
        for path in image.rglob("*")
        if path.parent.name in {"bin", "sbin"} and path.is_file() and not path.is_symlink()
    }
    assert {name.rstrip("0123456789.") for name in programs} == {"python", "meteragent"}
    assert not list(image.rglob("pip"))
    assert not list(image.rglob("ensurepip"))


def test_nothing_in_it_gives_rights_or_is_open_to_write(image: Path) -> None:
    for path in image.rglob("*"):
        status = path.lstat()
        if path.is_symlink() or path.relative_to(image) == Path("tmp"):
            continue
        assert not status.st_mode & (stat.S_ISUID | stat.S_ISGID | stat.S_IWOTH), path
        assert status.st_uid == (int(USER) if path == image / "var/lib/meteragent" else 0), path


def test_it_is_small(image: Path) -> None:
    sizes = [path.lstat().st_size for path in image.rglob("*") if not path.is_dir()]
    assert sum(sizes) < MOST_BYTES


def test_what_is_in_it_is_noted_for_scanners(image: Path) -> None:
    noted = {file.name for file in (image / "var/lib/dpkg/status.d").iterdir()}
    assert noted >= {"libc6", "python3-minimal", "ca-certificates", "zlib1g"}
    for name in noted:
        assert f"Package: {name}\n" in (image / "var/lib/dpkg/status.d" / name).read_text()


def test_what_is_installed_is_what_is_locked(cell: Cell) -> None:
    code = (
        "import json, importlib.metadata as m;"
        "print(json.dumps({d.name.lower().replace('_', '-'): d.version "
        "for d in m.distributions()}))"
    )
    installed = json.loads(cell.python(code).stdout)
    assert installed.pop("meteragent")
    assert installed.pop("meteragent-fast")
    lock = (ROOT / "requirements.lock").read_text()
    assert installed
    for name, version in installed.items():
        assert f"{name}=={version} " in lock


def test_it_says_help_and_checks(cell: Cell) -> None:
    agent = STAGES["agent"].exec_form("ENTRYPOINT")
    shown = cell.run(*agent, "--help")
    assert (shown.returncode, shown.stderr) == (0, "")
    checked = cell.run(*agent, "check", "--offline", "-c", "/etc/meteragent/agent.toml")
    assert (checked.returncode, checked.stderr) == (0, "")
    assert "noise key: good" in checked.stdout


def test_it_sanitizes_with_nothing_to_write_to(cell: Cell) -> None:
    agent = STAGES["agent"].exec_form("ENTRYPOINT")
    done = cell.run(*agent, "sanitize", "-", "-c", "/etc/meteragent/agent.toml", stdin=READINGS)
    assert done.returncode == 0, done.stderr
    releases = [json.loads(line) for line in done.stdout.splitlines()]
    assert [release["status"] for release in releases[:2]] == ["released"] * 2


def test_the_cell_is_one(cell: Cell) -> None:
    told = cell.python("print(open('/proc/self/status').read())").stdout
    status = dict(line.split(":", 1) for line in told.splitlines() if line)
    assert set(status["Uid"].split()) == {USER}
    for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(status[kind], 16) == 0
    assert status["NoNewPrivs"].strip() == "1"
    for where in ("/", "/tmp", "/var/lib/meteragent", "/opt/meteragent"):  # noqa: S108 - inside
        tried = cell.python(f"open('{where}/x', 'w')")
        assert "Read-only file system" in tried.stderr
    assert "No such file" in cell.run("/bin/sh").stderr


def test_the_health_check_asks_the_agent(cell: Cell) -> None:
    check = STAGES["agent"].exec_form("HEALTHCHECK")
    refused = cell.run(*check)
    assert refused.returncode == 1
    assert "Connection refused" in refused.stderr
