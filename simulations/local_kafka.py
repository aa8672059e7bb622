"""A real Kafka for the length of a simulation, through the project's own command."""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

COMMAND = Path(__file__).resolve().parents[1] / "deploy" / "kafka" / "broker"


@dataclass(frozen=True)
class Broker:
    """Where it listens, and which process it is, if that is known."""

    bootstrap: str
    pid: int | None = None


@contextmanager
def broker(bootstrap: str | None = None) -> Iterator[str]:
    """The address of a broker: the one that is given, or one that lives as long as this."""
    with running(bootstrap) as one:
        yield one.bootstrap


@contextmanager
def running(bootstrap: str | None = None) -> Iterator[Broker]:
    """The same, with the process that serves it."""
    if bootstrap:
        yield Broker(bootstrap)
        return
    with tempfile.TemporaryDirectory(prefix="meteragent-kafka-") as directory:
        place = Path(directory) / "broker"
        where = ["--dir", str(place)]
        started = subprocess.run(  # noqa: S603 - our own command
            [COMMAND, "start", *where], check=True, capture_output=True, text=True
        )
        printed = dict(line.split("=", 1) for line in started.stdout.splitlines() if "=" in line)
        pid = (place / "broker-1" / "pid").read_text()
        try:
            yield Broker(printed["bootstrap"], int(pid) if pid.isdigit() else None)
        finally:
            subprocess.run([COMMAND, "stop", *where], check=True, capture_output=True)  # noqa: S603
