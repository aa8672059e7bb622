"""Somebody who follows a page: saves the files that it shows, and types its commands, in order.

A file is a block with a title (```` ```toml title="agent.toml" ````); a command follows a `$` in a
block of `console`. All are typed into one shell, so that `&` and `kill %1` mean what they do at a
terminal. Ports that pages name are others here, so that nobody else's answer.
"""

from __future__ import annotations

import os
import re
import secrets
import selectors
import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NOISY = re.compile(r'"(values|unbiased)": ?\{.*?\}|@\[[\d.]+\]')
"""What the noise key and the clock decide."""
PORTS = (9092, 9108, 9109, 9090, 1883)
"""Of Kafka, the agent, Prometheus and MQTT, as pages name them."""
LONGEST_SECONDS = 240


@dataclass(frozen=True, slots=True)
class Saved:
    """A file, as a page shows it."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Typed:
    """A command, and what it says."""

    command: str
    said: str


def steps(page: str) -> Iterable[Saved | Typed]:
    """What there is to do, in the order of the page."""
    for language, title, text in BLOCK.findall(page):
        if language == "console":
            yield from _typed(text)
        elif title:
            yield Saved(title, text)


def _typed(text: str) -> Iterable[Typed]:
    """A line that ends in a backslash, or opens a here-document, goes on."""
    joined = re.sub(r"\\\n", "\\\\\0", text)
    for part in re.split(r"^\$ ", joined, flags=re.MULTILINE)[1:]:
        command, _, said = part.partition("\n")
        yield Typed(command.replace("\0", "\n"), said)


def agree(printed: str, said: str) -> bool:
    """Whether a command said what is printed.

    `…` stands for anything: alone on a line for any lines, otherwise for the rest between.
    """
    if not printed:
        return True  # what it says is not shown
    parts = re.split(r"^…\n", NOISY.sub("N", printed), flags=re.MULTILINE)
    lines = (".*".join(map(re.escape, part.split("…"))) for part in parts)
    return bool(re.fullmatch(r"(.*\n)*?".join(lines), NOISY.sub("N", said)))


class Shell:
    """One, for all that is typed; what it left running ends with the block."""

    def __init__(self, directory: Path, path: Iterable[Path | str]) -> None:
        home = directory / "home"
        self.directory = directory / "work"
        self.directory.mkdir()
        _with_what_was_fetched(home)
        self._ports = {port: _free() for port in PORTS}
        environ = {
            "HOME": str(home),
            "PATH": ":".join(map(str, path)),
            "MAVEN_ARGS": f"-Dmaven.repo.local={Path.home() / '.m2' / 'repository'}",
            "PIP_CACHE_DIR": str(Path.home() / ".cache" / "pip"),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "METERAGENT__HTTP__PORT": str(self._ports[9108]),
            "COLUMNS": "80",
            "LANG": "C.UTF-8",
            **{name: os.environ[name] for name in os.environ if "proxy" in name.lower()},
        }
        self._process = subprocess.Popen(
            ["/bin/bash", "--norc"],
            cwd=self.directory,
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.types("set -m")  # each command a group of its own, as at a terminal

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """In the order in which they began: what uses a broker ends before it."""
        left = self.types("jobs -p")[0].split() if self._process.poll() is None else []
        for group in map(int, left):
            with suppress(ProcessLookupError):  # it has ended by itself
                os.killpg(group, signal.SIGTERM)
        self.types("wait")
        self._process.communicate(timeout=30)

    def moved(self, text: str) -> str:
        """The same at other ports."""
        for usual, other in self._ports.items():
            text = re.sub(rf"(?<!\d){usual}(?!\d)", str(other), text)
        return text

    def saves(self, step: Saved) -> None:
        """As it is shown, but for ports."""
        file = self.directory / step.name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self.moved(step.text), "utf-8")

    def follows(self, page: str) -> list[str]:
        """Do what a page says; each command must end well, and say what is printed."""
        done = []
        for step in steps(page):
            if isinstance(step, Saved):
                self.saves(step)
                continue
            said, code = self.types(step.command)
            assert code == 0, f"$ {step.command}\n{said}"
            assert agree(self.moved(step.said), said), f"$ {step.command}\n{said}"
            done.append(step.command)
        return done

    def types(self, command: str) -> tuple[str, int]:
        """What it says, and how it ends."""
        mark = secrets.token_hex(8)
        line = f"{{ {self.moved(command)}\n}} </dev/null\nprintf '%s %d\\n' {mark} $?\n"
        assert self._process.stdin
        self._process.stdin.write(line.encode())
        self._process.stdin.flush()
        said = self._reads_until(mark)
        text, _, code = said.rpartition(mark)
        return text, int(code)

    def _reads_until(self, mark: str) -> str:
        assert self._process.stdout
        end, said = time.monotonic() + LONGEST_SECONDS, b""
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while not re.search(rb"%b \d+\n" % mark.encode(), said):
                assert selector.select(end - time.monotonic()), said.decode()
                heard = os.read(self._process.stdout.fileno(), 65536)
                assert heard, said.decode()
                said += heard
        return said.decode()


def _with_what_was_fetched(home: Path) -> None:
    """Kafka's own files, where they are on this machine already."""
    fetched = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "meteragent"
    (home / ".cache" / "meteragent").mkdir(parents=True)
    for jars in fetched.glob("kafka-*"):
        (home / ".cache" / "meteragent" / jars.name).symlink_to(jars)


def _free() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        return int(one.getsockname()[1])


def brought(directory: Path, *names: str) -> None:
    """What a page takes from a copy of the project."""
    for name in names:
        there = ROOT / name
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        if there.is_dir():
            shutil.copytree(there, directory / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(there, directory / name)
