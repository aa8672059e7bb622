"""Kafka's jars: fetched by Maven once, kept in the user's cache."""

# ruff: noqa: S603 - fixed commands, found on the PATH as a shell would
from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import tempfile
from pathlib import Path
from xml.etree import ElementTree as ET

from localkafka.errors import BrokerError

_POM = Path(__file__).resolve().parent.parent / "pom.xml"
_NAMESPACE = {"m": "http://maven.apache.org/POM/4.0.0"}


def cache() -> Path:
    """Return where this user's programs may keep what they can fetch again."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "meteragent"


def default_version() -> str:
    """Return the version of Kafka that the project is tested with."""
    version = ET.parse(_POM).findtext("m:properties/m:kafka.version", namespaces=_NAMESPACE)  # noqa: S314 - ours
    if version is None:
        raise BrokerError(f"{_POM} has no property kafka.version")
    return version


def directory(version: str) -> Path:
    """Return the directory of the jars, which exists once they are there.

    Another pom means another directory: a cache never serves what the pom no longer says.
    """
    digest = hashlib.sha256(_POM.read_bytes()).hexdigest()[:8]
    return cache() / f"kafka-{version}-{digest}"


def fetch(version: str) -> None:
    """Copy the jars by Maven; the directory appears complete or not at all."""
    jars = directory(version)
    jars.parent.mkdir(parents=True, exist_ok=True)
    with (jars.parent / "fetch.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if jars.is_dir():
            return  # another process was first
        with tempfile.TemporaryDirectory(dir=jars.parent) as scratch:
            made = Path(scratch) / "jars"
            _copy_dependencies(version, made)
            made.rename(jars)


def _copy_dependencies(version: str, target: Path) -> None:
    done = subprocess.run(
        [
            *("mvn", "--quiet", "--batch-mode", "--file", str(_POM)),
            *("dependency:copy-dependencies", f"-DoutputDirectory={target}"),
            f"-Dkafka.version={version}",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode or not target.is_dir():
        raise BrokerError(f"Maven could not fetch Kafka {version}:\n{done.stdout.strip()}")
