"""What processes use: seconds of the processor with all that they started, and memory."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
ROOT = Path(__file__).resolve().parents[1]
END_SECONDS = 20


@contextmanager
def started(
    command: Sequence[str | Path], log: Path, environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is ended afterwards; what it says goes to a file."""
    with log.open("ab") as said:
        process = subprocess.Popen(  # noqa: S603 - commands of this directory
            command, stdout=said, stderr=said, cwd=ROOT, env={**os.environ, **(environment or {})}
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def module(name: str, *arguments: str | Path) -> list[str | Path]:
    """The command that runs one of our modules."""
    return [sys.executable, "-m", name, *arguments]


def processor_seconds(pid: int | None) -> float:
    """Of a process and its living children, with what it has waited for; 0 if there is none."""
    if pid is None:
        return 0.0
    try:
        fields = _stat(pid)
        mine = sum(map(int, fields[11:15])) / _TICK
        return mine + sum(map(processor_seconds, _children(pid)))
    except OSError:
        return 0.0


def resident_bytes(pid: int) -> int:
    """Memory of one process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE


def _stat(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _children(pid: int) -> Iterator[int]:
    for task in Path(f"/proc/{pid}/task").iterdir():
        yield from map(int, (task / "children").read_text().split())
