"""The image, made once for all tests that look into it, and a cell to run it in.

The cell is what a cluster gives the agent: a user of its own, no capability, nothing to write to,
and a network in which one broker is all that can be reached.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tests.deploy import dockerfile

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = ROOT / "deploy" / "image" / "Dockerfile"
STAGES = dockerfile.stages(DOCKERFILE)
USER = "65532"


@contextmanager
def made(base: Path = Path("/")) -> Iterator[Path]:
    """The image's root."""
    with tempfile.TemporaryDirectory(prefix="meteragent-image-") as directory:
        Path(directory).chmod(0o755)  # the cell's user looks in
        yield dockerfile.build(DOCKERFILE, ROOT, "agent", Path(directory), base)


@dataclass
class Cell:
    """Runs an image's programs, apart from everything."""

    image: Path
    network: str | None = None
    """Where a network namespace stands; without one, there is no network at all."""
    shown: dict[str, Path] = field(default_factory=dict)
    """Files and directories that are to be seen inside, read-only, by where."""
    environ: dict[str, str] = field(default_factory=dict)

    def command(self, *words: str) -> list[str]:
        """What runs `words` inside."""
        given = STAGES["agent"].environ | self.environ
        return [
            *(("nsenter", f"--net={self.network}") if self.network else ()),
            *("setpriv", "--reuid", USER, "--regid", USER, "--clear-groups", "--no-new-privs"),
            *("bwrap", "--ro-bind", str(self.image), "/", "--proc", "/proc", "--dev", "/dev"),
            *(() if self.network else ("--unshare-net",)),
            *("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts"),
            *("--cap-drop", "ALL", "--die-with-parent", "--new-session", "--clearenv"),
            *(
                word
                for where, what in self.shown.items()
                for word in ("--ro-bind", str(what), where)
            ),
            *(word for name, value in given.items() for word in ("--setenv", name, value)),
            *("--", *words),
        ]

    def run(self, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run to the end."""
        return subprocess.run(  # noqa: S603 - our own command
            self.command(*words),
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def python(self, code: str) -> subprocess.CompletedProcess[str]:
        """Run some Python, as the image has it."""
        return self.run("/opt/meteragent/bin/python", "-c", code)


def owned(path: Path) -> Path:
    """Hand a file or a directory over to the cell's user."""
    for one in (path, *path.rglob("*")):
        os.chown(one, int(USER), int(USER))
    return path
