from __future__ import annotations

import subprocess
from pathlib import Path

import pytest


@pytest.fixture(scope="session", autouse=True)
def _installed() -> None:
    """Prometheus and Grafana's schema, fetched where they are missing."""
    done = subprocess.run(  # noqa: S603 - our own command
        [Path(__file__).parent / "install"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
