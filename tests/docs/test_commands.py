"""Every command in the README, run as it is printed, in its order, in a clean clone.

Two are not simply run, and this is what happens instead:

- `deploy/demo` runs with a street of five homes and a day of two seconds.
- `meteragent run` never ends: it is ended by SIGTERM once it is ready, and must end with 0.

What a command prints is compared with what is printed here; `…` stands for any lines, and
numbers that depend on the noise key are not compared.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from meteragent.commands.parser import parser
from tests.docs.typed import Typed, agree, steps

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
PORT, PAGE = 9092, "http://127.0.0.1:9108/"


def blocks(language: str, page: str = README) -> list[str]:
    return re.findall(rf"```{language}(?: title=[^\n]*)?\n(.*?)```", page, flags=re.DOTALL)


def commands(page: str = README) -> list[tuple[str, str]]:
    """All of them, and what they say, in the order of the page."""
    return [(step.command, step.said) for step in steps(page) if isinstance(step, Typed)]


def of_ours() -> list[str]:
    plain = (command.replace("\\\n", " ").partition(" #")[0] for command, _ in commands())
    return [line.removeprefix("meteragent ") for line in plain if line.startswith("meteragent ")]


def taken(port: int) -> bool:
    with socket.socket() as attempt:
        attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        return attempt.connect_ex(("127.0.0.1", port)) == 0


def free() -> int:
    with socket.socket() as attempt:
        attempt.bind(("127.0.0.1", 0))
        return int(attempt.getsockname()[1])


class Reader:
    """Somebody who types what the README says, in a clean clone, with an empty home."""

    def __init__(self, directory: Path) -> None:
        self.clone = directory / "meteragent"
        self.port = free() if taken(PORT) else PORT
        home = directory / "home"
        home.mkdir()
        self.environ = {
            "HOME": str(home),
            "XDG_CACHE_HOME": str(home / "cache"),
            "PATH": f"{directory / 'venv' / 'bin'}:{os.environ['PATH']}",
            "MAVEN_ARGS": f"-Dmaven.repo.local={Path.home() / '.m2' / 'repository'}",
            "PIP_CACHE_DIR": str(Path.home() / ".cache" / "pip"),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_NO_COMPILE": "1",
            "PYTHON": sys.executable,
            "COLUMNS": "80",
            "LANG": "C.UTF-8",
        }
        fetched = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "meteragent"
        (home / "cache" / "meteragent").mkdir(parents=True)
        for jars in fetched.glob("kafka-*"):
            (home / "cache" / "meteragent" / jars.name).symlink_to(jars)
        subprocess.run(  # noqa: S603 - git, and our own repository
            ["git", "clone", "--quiet", str(ROOT), str(self.clone)],  # noqa: S607
            check=True,
        )
        subprocess.run([sys.executable, "-m", "venv", directory / "venv"], check=True)  # noqa: S603
        [configuration] = blocks("toml")
        (self.clone / "agent.toml").write_text(self.moved(configuration))

    def moved(self, text: str) -> str:
        """The same at another port, where the usual one is taken on this machine."""
        return text.replace(str(PORT), str(self.port))

    def types(self, command: str) -> subprocess.Popen[str]:
        return subprocess.Popen(  # noqa: S603 - what our README says
            ["/bin/bash", "-c", f"exec {self.moved(command)}"],
            cwd=self.clone,
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def reads(self, command: str) -> str:
        process = self.types(command)
        said = process.communicate(timeout=300)[0]
        assert process.returncode == 0, f"$ {command}\n{said}"
        return said

    def leaves_running_until_ready(self, command: str) -> str:
        port = free()  # other tests have agents too
        self.environ["METERAGENT__HTTP__PORT"] = str(port)
        process = self.types(command)
        deadline = time.monotonic() + 60
        while not answers(f"http://127.0.0.1:{port}/readyz"):
            assert process.poll() is None, process.communicate()[0]
            assert time.monotonic() < deadline
            os.sched_yield()
        process.terminate()
        said = process.communicate(timeout=60)[0]
        assert process.returncode == 0, said
        return said


def answers(url: str) -> bool:
    try:
        with urlopen(url, timeout=5):  # noqa: S310 - our own agent's
            return True
    except (URLError, OSError):
        return False


def test_every_command_of_ours_is_known() -> None:
    assert len(of_ours()) > 5
    for line in of_ours():
        parser().parse_args(line.split())


def test_every_command_does_what_the_readme_says(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    done = []
    try:
        for command, printed in commands():
            plain = command.partition(" #")[0].strip()
            if plain == "deploy/demo":
                said = reader.reads("deploy/demo --homes 5 --seconds 2")
                assert "no Kafka" not in said
            elif plain.startswith("meteragent run "):
                said = reader.leaves_running_until_ready(plain)
            else:
                said = reader.reads(command)
            assert agree(reader.moved(printed), said), f"$ {command}\n{said}"
            done.append(plain)
    finally:
        reader.types("deploy/kafka/broker stop").communicate(timeout=60)
    assert {"deploy/demo", "pip install .", "deploy/kafka/broker stop"} <= {*done}
    assert shutil.which("meteragent", path=str(tmp_path / "venv" / "bin"))
    assert (reader.clone / "out" / "demo.png").stat().st_size > 10_000
