"""How a JVM with Kafka's classes is had: this machine's Java, or Docker.

Both run the same commands on the same files, so that a cluster need not know which it has. A
process is signalled only after it has been recognised by the marker on its own command line: a
pid file may be older than the process that has its number now.
"""

# ruff: noqa: S603, S607 - fixed commands, found on the PATH as a shell would
from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from localkafka import jars
from localkafka.errors import BrokerError, UnavailableError

if TYPE_CHECKING:
    import signal

_HERE = Path(__file__).resolve().parent.parent
_JAVA_VERSION = 17
# Compiling less and collecting by one thread halves the time to start.
_JVM = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Djava.awt.headless=true")
_BROKER = "kafka.Kafka"
_IMAGE_JARS = "/opt/kafka/libs/*"


class Runtime(Protocol):
    """A way to run Kafka's main classes. A broker's directory is a child of its cluster's."""

    def run(self, cluster: Path, main: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a tool of Kafka's to its end."""

    def spawn(self, broker: Path, properties: Path, heap: str) -> str:
        """Start a broker and return the handle by which it is found again."""

    def alive(self, broker: Path, handle: str) -> bool:
        """Tell whether the handle still names the broker of that directory."""

    def send(self, broker: Path, handle: str, number: signal.Signals) -> None:
        """Send a signal to the broker, or to nobody if it is gone."""


def prepare(version: str) -> Runtime:
    """Return this machine's Java where that is enough, else Docker, else say what to install."""
    fault = _java_fault(version)
    if not fault:
        jars.fetch(version)
        return Java(version)
    if _docker_answers():
        return Docker(version)
    raise UnavailableError(
        f"no way to run Kafka here: {fault}, and no Docker daemon answers.\n"
        f"Install Java {_JAVA_VERSION} or later and Maven, or start Docker."
    )


def recall(name: str, version: str) -> Runtime:
    """Return the runtime that a cluster was started with, without asking for it again."""
    return Docker(version) if name == Docker.__name__ else Java(version)


def _java_fault(version: str) -> str:
    if shutil.which("java") is None:
        return "Java is missing"
    told = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(\d+)', told)
    if found is None or int(found[1]) < _JAVA_VERSION:
        return f"`java` is older than {_JAVA_VERSION}"
    if not jars.directory(version).is_dir() and shutil.which("mvn") is None:
        return "Maven (`mvn`) is missing"
    return ""


def _docker_answers() -> bool:
    if shutil.which("docker") is None:
        return False
    asked = subprocess.run(["docker", "info"], capture_output=True, check=False)
    return asked.returncode == 0


def _marker(broker: Path) -> str:
    return f"-Dmeteragent.broker={broker}"


def _tool(class_path: str, main: str, arguments: tuple[str, ...]) -> list[str]:
    return [*_JVM, "-Xmx256m", "-cp", class_path, main, *arguments]


def _broker(class_path: str, broker: Path, properties: Path, heap: str) -> list[str]:
    return [
        *_JVM,
        f"-Xmx{heap}",
        _marker(broker),
        f"-Dlog4j2.configurationFile={_HERE / 'log4j2.properties'}",
        f"-Dmeteragent.log={broker / 'broker.log'}",
        *os.environ.get("KAFKA_OPTS", "").split(),
        *("-cp", class_path, _BROKER, str(properties)),
    ]


class Java:
    """The Java of this machine; a handle is a process id."""

    def __init__(self, version: str) -> None:
        self._class_path = f"{jars.directory(version)}/*"

    def run(self, cluster: Path, main: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a tool of Kafka's to its end."""
        command = ["java", *_tool(self._class_path, main, arguments)]
        return subprocess.run(command, cwd=cluster, capture_output=True, text=True, check=False)

    def spawn(self, broker: Path, properties: Path, heap: str) -> str:
        """Start a broker that outlives this command and the terminal's Ctrl-C."""
        with (broker / "console.log").open("ab") as console:
            process = subprocess.Popen(
                ["java", *_broker(self._class_path, broker, properties, heap)],
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=console,
                cwd=broker,
                start_new_session=True,
            )
        # For an instant after exec the kernel shows no command line to recognise it by.
        while process.poll() is None and not self.alive(broker, str(process.pid)):
            time.sleep(0.001)
        return str(process.pid)

    def alive(self, broker: Path, handle: str) -> bool:
        """Tell whether the process of that number is our JVM: a zombie has no command line."""
        return _marker(broker) in _command_line(handle)

    def send(self, broker: Path, handle: str, number: signal.Signals) -> None:
        """Send a signal to the broker, or to nobody if it is gone."""
        if self.alive(broker, handle):
            with suppress(ProcessLookupError):
                os.kill(int(handle), number)


def _command_line(pid: str) -> str:
    if Path("/proc/self/cmdline").exists():
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes().decode().replace("\0", " ")
        except OSError:
            return ""
    shown = ["ps", "-ww", "-o", "args=", "-p", pid]
    return subprocess.run(shown, capture_output=True, text=True, check=False).stdout


class Docker:
    """The official image, on the host's network so that a port means the same as without it."""

    def __init__(self, version: str) -> None:
        self._image = f"apache/kafka:{version}"

    def run(self, cluster: Path, main: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a tool of Kafka's to its end."""
        return _docker(*self._container(cluster), *_tool(_IMAGE_JARS, main, arguments))

    def spawn(self, broker: Path, properties: Path, heap: str) -> str:
        """Start a broker as a container, whose name is the handle."""
        name = "meteragent-" + hashlib.sha256(str(broker).encode()).hexdigest()[:12]
        _docker("rm", "--force", name)  # a killed broker's container may still be going
        done = _docker(
            *self._container(broker.parent, "--detach", "--name", name),
            *_broker(_IMAGE_JARS, broker, properties, heap),
        )
        if done.returncode:
            raise BrokerError(f"docker could not run {self._image}: {done.stderr.strip()}")
        return name

    def alive(self, broker: Path, handle: str) -> bool:
        """Tell whether a container of that name runs our broker."""
        shown = _docker("inspect", "--format", "{{.State.Running}} {{.Args}}", handle).stdout
        return shown.startswith("true ") and _marker(broker) in shown

    def send(self, broker: Path, handle: str, number: signal.Signals) -> None:
        """Send a signal to the broker, or to nobody if it is gone."""
        if self.alive(broker, handle):
            _docker("kill", "--signal", number.name, handle)

    def _container(self, cluster: Path, *options: str) -> list[str]:
        return [
            *("run", "--rm", "--network", "host", "--user", f"{os.getuid()}:{os.getgid()}"),
            *("--volume", f"{cluster}:{cluster}", "--volume", f"{_HERE}:{_HERE}:ro"),
            *(*options, "--entrypoint", "java", self._image),
        ]


def _docker(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["docker", *arguments], capture_output=True, text=True, check=False)
