"""Processes that are ended by their number, and leave nothing behind."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from simulations.demo.interrupts import Interrupts

ROOT = Path(__file__).resolve().parents[2]
BROKER = (sys.executable, ROOT / "deploy" / "kafka" / "broker")
GRACE = 15.0


class Trouble(Exception):
    """Something that the demonstration cannot go on without; says what to do."""


class Child:
    """A process of its own session, so that the terminal's Ctrl-C is ours alone to pass on."""

    def __init__(self, command: Sequence[object], log: Path, *, fed: bool = False) -> None:
        """Start it; what it says goes to `log`, and if it is `fed`, it reads what is written."""
        self._log = log
        with log.open("wb") as said:
            self._process = subprocess.Popen(  # noqa: S603 - our own commands
                [*map(str, command)],
                start_new_session=True,
                stdin=subprocess.PIPE if fed else subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
            )
        self.pid: int = self._process.pid

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self._process.poll() is None

    def write(self, text: bytes) -> None:
        """Hand it something, if it reads from a pipe."""
        if self._process.stdin is not None:
            self._process.stdin.write(text)
            self._process.stdin.flush()

    def close(self) -> None:
        """Tell it that there is no more."""
        if self._process.stdin is not None:
            self._process.stdin.close()

    def words(self) -> str:
        """All that it said."""
        return self._log.read_text("utf-8", "replace").strip()

    def last_words(self) -> str:
        """The last line of it."""
        return (self.words().splitlines() or ["it did not say why"])[-1]

    def wait(self) -> int:
        """Its exit code, when it ends."""
        return int(self._process.wait())

    def end(self, number: signal.Signals = signal.SIGTERM) -> None:
        """End it in good order, and by force if that takes too long."""
        if self.running:
            self._process.send_signal(number)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE)
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()


class Broker:
    """A Kafka of our own, in a directory of our own."""

    def __init__(self, directory: Path, interrupts: Interrupts) -> None:
        self.directory = directory
        self._interrupts = interrupts
        self._begun: Child | None = None

    def start(self) -> str:
        """Its address. Trouble: there is none to be had here, and why."""
        with self._interrupts.later():
            command = (*BROKER, "start", "--dir", self.directory)
            self._begun = Child(command, self.directory.parent / "broker.log")
        if self._begun.wait():
            raise Trouble(self._begun.words().partition("\n")[0].removeprefix("broker: "))
        lines = self._begun.words().splitlines()
        return dict(line.split("=", 1) for line in lines if "=" in line)["bootstrap"]

    def stop(self) -> None:
        """End it at any moment of its life, and remove what it wrote.

        Why two ways: until its directory is there, it fetches what it needs, which may take
        long and is broken off; after that it is up in seconds, and can be stopped by its command.
        """
        if self._begun is None:
            return
        if self._begun.running and not (self.directory / "broker-1").exists():
            self._begun.end(signal.SIGINT)
        self._begun.wait()
        subprocess.run(  # noqa: S603 - our own command
            [*BROKER, "stop", "--dir", self.directory], capture_output=True, check=False
        )
