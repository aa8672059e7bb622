"""The command line starts fast: seconds of the processor, which other work does not lengthen."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import given

EXAMPLE = Path(__file__).resolve().parents[2] / "deploy" / "agent.toml"
KEY = {"METERAGENT__AGENT__KEY": given.KEY.to_hex()}


def processor_seconds(*arguments: str) -> float:
    before = os.times()
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "meteragent", *arguments],
        check=False,
        capture_output=True,
        env={**os.environ, **KEY},
    )
    after = os.times()
    assert not done.returncode, done.stderr
    children = (after.children_user, after.children_system)
    return sum(children) - before.children_user - before.children_system


@pytest.mark.parametrize(
    ("arguments", "most"), [(("--help",), 0.3), (("check", "--offline", "-c", "{config}"), 1.0)]
)
def test_a_command_is_there_before_one_waits(
    arguments: tuple[str, ...], most: float, tmp_path: Path
) -> None:
    config = tmp_path / "agent.toml"
    lines = EXAMPLE.read_text().splitlines()
    config.write_text("\n".join(line for line in lines if not line.startswith("key_file")))
    given = [argument.format(config=config) for argument in arguments]
    assert min(processor_seconds(*given) for _ in range(2)) < most


def test_help_loads_nothing_heavy() -> None:
    asked = "import sys; from meteragent.cli import main; main(['--help']); print(*sys.modules)"
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-c", asked], check=True, capture_output=True, text=True
    )
    loaded = {name.partition(".")[0] for name in done.stdout.splitlines()[-1].split()}
    assert "meteragent" in loaded
    assert loaded.isdisjoint({"numpy", "pydantic", "aiokafka", "asyncio", "structlog", "ssl"})
