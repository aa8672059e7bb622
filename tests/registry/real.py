"""A real registry: Apicurio's own server, as Maven has it, with its schemas in memory."""

from __future__ import annotations

import shutil
import subprocess
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

POM = Path(__file__).parent / "apicurio" / "server" / "pom.xml"
"""Which version: 2.6 is the last whose parts Maven finds all of, and that runs on Java 17."""
MOST_SECONDS = 180
STEP = 0.2


@contextmanager
def apicurio(directory: Path, port: int) -> Iterator[str]:
    """Its address, once it answers."""
    shutil.copy(POM, directory)
    plugin = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:unpack-dependencies"
    fetch = ["mvn", "--quiet", "--batch-mode", plugin, f"-DoutputDirectory={directory}"]
    subprocess.run(fetch, check=True, cwd=directory, timeout=600)  # noqa: S603 - a fixed command
    [program] = directory.glob("*-runner.jar")
    run = ["java", "-Xmx512m", "-Dquarkus.http.host=127.0.0.1", f"-Dquarkus.http.port={port}"]
    run += ["-jar", program.name]
    with (directory / "server.log").open("wb") as log:
        server = subprocess.Popen(run, cwd=directory, stdout=log, stderr=log)  # noqa: S603
    try:
        url = f"http://127.0.0.1:{port}"
        for _ in range(round(MOST_SECONDS / STEP)):
            if _answers(f"{url}/apis/registry/v2/system/info"):
                break
            assert server.poll() is None, (directory / "server.log").read_text()[-2000:]
            time.sleep(STEP)
        else:
            raise AssertionError("the server has not answered in time")
        yield url
    finally:
        server.terminate()
        server.wait()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as told:  # noqa: S310 - our own
            return bool(told.status == 200)
    except OSError:
        return False
