"""The wheel is the same wherever it is made, works where it is installed, and hides nothing."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from importlib.metadata import files, metadata
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
SUPPLY = ROOT / "deploy" / "supply"
FAST = ROOT / "meteragent" / "formats" / "fast"
LOCK = (ROOT / "requirements.lock").read_text()
LOCKED = dict(re.findall(r"^([\w.-]+)==([^\s;]+)", LOCK, re.MULTILINE))
PERMISSIVE = re.compile(r"Apache|MIT|BSD|PSF|Zlib|CC0", re.IGNORECASE)
COPYLEFT = re.compile(r"\b[AL]?GPL|General Public", re.IGNORECASE)
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


def wheel(into: Path, umask: int = 0o022, **environ: str) -> Path:
    """Made by the project's own script."""
    scratch = into / "scratch"
    scratch.mkdir(parents=True)
    subprocess.run(  # noqa: S603 - our own command
        [SUPPLY / "wheel", into],
        check=True,
        capture_output=True,
        umask=umask,
        env={**os.environ, "PYTHON": sys.executable, "TMPDIR": str(scratch), **environ},
    )
    (made,) = into.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return wheel(tmp_path_factory.mktemp("wheel"), SOURCE_DATE_EPOCH="1700000000")


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def test_the_wheel_is_the_same_from_another_place_time_and_mask(made: Path, tmp_path: Path) -> None:
    elsewhere = {"SOURCE_DATE_EPOCH": "1700000000", "TZ": "Asia/Tokyo", "LANG": "C"}
    again = wheel(tmp_path / "a" / "longer" / "path", umask=0o077, **elsewhere)
    assert digest(again) == digest(made)


def test_the_time_that_is_noted_is_the_one_that_is_asked_for(made: Path) -> None:
    with zipfile.ZipFile(made) as archive:
        years = {entry.date_time[0] for entry in archive.infolist()}
    assert years == {2023}


def test_the_wheel_holds_the_package_and_nothing_else(made: Path) -> None:
    with zipfile.ZipFile(made) as archive:
        names = set(archive.namelist())
    info = {name for name in names if ".dist-info/" in name}
    package = {f"meteragent/{p.relative_to(ROOT / 'meteragent')}" for p in tracked("meteragent")}
    assert names - info == package
    assert package >= {
        "meteragent/py.typed",
        "meteragent/privacy/mechanism.md",
        "meteragent/watch/page/index.html",
        "meteragent/watch/page/script.js",
        "meteragent/watch/page/style.css",
    }


def tracked(directory: str) -> list[Path]:
    """The files of a directory, without what Python leaves there, nor a wheel of its own."""
    files = [path for path in (ROOT / directory).rglob("*") if path.is_file()]
    crate = ROOT / "meteragent" / "formats" / "fast"
    return [
        path
        for path in files
        if "__pycache__" not in path.parts
        and (crate not in path.parents or path.name == "__init__.py")
    ]


def test_a_clean_environment_from_lock_and_wheel_works(made: Path, tmp_path: Path) -> None:
    home = tmp_path / "venv"
    venv.create(home, with_pip=True)
    pip = (home / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-compile")
    for what in (("--require-hashes", "-r", ROOT / "requirements.lock"), ("--no-index", made)):
        subprocess.run([*pip, "--no-deps", *what], check=True, capture_output=True)  # noqa: S603

    def meteragent(*words: str | Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
        done = subprocess.run(  # noqa: S603 - what was just installed
            [home / "bin" / "meteragent", *words],
            cwd=tmp_path,
            env={"CREDENTIALS_DIRECTORY": str(tmp_path)},
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done

    configuration = ROOT / "deploy" / "systemd" / "agent.toml"
    assert "sanitize" in meteragent("--help").stdout
    meteragent("key", "create", tmp_path / "noise-key")
    assert "noise key: good" in meteragent("check", "--offline", "-c", configuration).stdout
    released = meteragent("sanitize", "-", "-c", configuration, stdin=READINGS).stdout
    assert json.loads(released.splitlines()[0])["status"] == "released"


def test_the_bill_of_materials_is_the_lock(tmp_path: Path) -> None:
    file = tmp_path / "sbom.json"
    environ = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    subprocess.run(  # noqa: S603 - our own command
        [SUPPLY / "sbom", file], check=True, capture_output=True, env=environ
    )
    bill = json.loads(file.read_text())
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    assert bill["metadata"]["component"]["name"] == "meteragent"
    assert {part["name"]: part["version"] for part in bill["components"]} == LOCKED
    for part in bill["components"]:
        assert part["purl"].startswith(f"pkg:pypi/{part['name']}@{part['version']}")
        hashes = {one["content"] for where in part["externalReferences"] for one in where["hashes"]}
        assert hashes
        assert all(f"sha256:{one}" in LOCK for one in hashes)
    assert not {"serialNumber", "timestamp"} & {*bill, *bill["metadata"]}  # another each time


def test_everything_that_is_locked_has_hashes() -> None:
    for text in (LOCK, (ROOT / "deploy" / "image" / "build.lock").read_text()):
        entries = re.split(r"^(?=[\w.-]+==)", text, flags=re.MULTILINE)
        entries = [entry for entry in entries if "==" in entry]
        assert entries
        assert all("--hash=sha256:" in entry for entry in entries)


def packages_of(page: str) -> str:
    """What stands before the crates, one of which is called numpy, too."""
    return page.partition("fast/Cargo.lock")[0]


def test_every_licence_is_reported_and_permissive() -> None:
    """If not reported: deploy/supply/licences > deploy/supply/licences.md"""
    page = packages_of((SUPPLY / "licences.md").read_text()).replace("_", "-")
    for name in LOCKED:
        (row,) = [line for line in page.splitlines() if line.startswith(f"| {name} ")]
        licence = row.split("|")[2]
        assert PERMISSIVE.search(licence)
        assert not COPYLEFT.search(licence)


def test_every_crate_of_the_fast_wheel_is_in_its_bill_and_reported_and_permissive() -> None:
    (bill,) = [f for f in files("meteragent-fast") or () if f.name.endswith(".cyclonedx.json")]
    parts = json.loads(bill.read_text())["components"]
    page = (SUPPLY / "licences.md").read_text()
    asked = tomllib.loads((FAST / "Cargo.toml").read_text())["dependencies"]
    assert {part["name"] for part in parts} >= set(asked)
    for name in asked:
        (row,) = [line for line in page.splitlines() if line.startswith(f"| {name} v")]
        assert PERMISSIVE.search(row.split("|")[2])
        assert not COPYLEFT.search(row.split("|")[2])


@pytest.mark.parametrize("name", ["aiokafka", "numpy", "pydantic", "structlog", "uvloop"])
def test_the_report_says_what_packages_say_of_themselves(name: str) -> None:
    page = packages_of((SUPPLY / "licences.md").read_text())
    said = metadata(name)
    known = [*(said.get_all("License-Expression") or ()), *(said.get_all("Classifier") or ())]
    (row,) = [line for line in page.splitlines() if line.startswith(f"| {name} ")]
    licences = [part.strip() for part in row.split("|")[2].split(";")]
    texts = " ".join(filter(None, known))
    assert all(licence in texts for licence in licences)


def test_the_release_is_made_by_the_scripts_that_are_tested() -> None:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    workflow = yaml.safe_load(text)
    for script in ("tests/run", "deploy/supply/wheel", "deploy/supply/sbom"):
        assert (ROOT / script).exists()
        assert f"run: {script}" in text
    assert "pip-audit" in text
    assert workflow["permissions"] == {}
    actions = re.findall(r"uses: (\S+)", text)
    assert actions
    assert all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action) for action in actions)
