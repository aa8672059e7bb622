"""A real Kafka for the length of a simulation, through the project's own command."""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

COMMAND = Path(__file__).resolve().parents[1] / "deploy" / "kafka" / "broker"


@contextmanager
def broker(bootstrap: str | None = None) -> Iterator[str]:
    """The address of a broker: the one that is given, or one that lives as long as this."""
    if bootstrap:
        yield bootstrap
        return
    with tempfile.TemporaryDirectory(prefix="meteragent-kafka-") as directory:
        where = ["--dir", str(Path(directory) / "broker")]
        started = subprocess.run(  # noqa: S603 - our own command
            [COMMAND, "start", *where], check=True, capture_output=True, text=True
        )
        printed = dict(line.split("=", 1) for line in started.stdout.splitlines() if "=" in line)
        try:
            yield printed["bootstrap"]
        finally:
            subprocess.run([COMMAND, "stop", *where], check=True, capture_output=True)  # noqa: S603
