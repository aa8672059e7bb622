"""Frames in, the same frames out: what `sanitize` says of the same readings, to the last bit."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import meteragent as ma
from meteragent.cli import main
from tests.files.given import write_key
from tests.library.written import KINDS, ROWS, Row, document, frame, lines, records

if TYPE_CHECKING:
    from pathlib import Path

    from meteragent.library.plan import Plan

HEAD = """
[agent]
key_file = "noise.key"
"""
HOMES = """
[[policy]]
name = "homes"
match = "home-"
window = "5m"
interval = "30s"
maximum = "24kW"
epsilon = "1"
budget = "24"
"""
CONFIGURATIONS = {
    "some queries, and a budget that ends": HOMES
    + 'queries = ["avg", "p95", "max"]\non_exhausted = "partial"\nmin_coverage = "0.1"\n',
    "every reading, and exact counts": HOMES
    + 'queries = ["avg", "reading"]\nreadings = "exact"\nmin_coverage = "0.1"\n',
    "private presence": HOMES + 'presence = "private"\nqueries = ["avg", "reading"]\n',
    "one draw for all": HOMES
    + 'noise = "joint"\nmin_coverage = "0.1"\nqueries = ["min", "avg", "max"]\n',
    "two policies and one account": """
[budget]
amount = "14"
[[policy]]
name = "grid"
window = "5m"
interval = "30s"
maximum = "24kW"
epsilon = "0.5"
share = "6"
min_coverage = "0.1"
[[policy]]
name = "research"
window = "10m"
interval = "30s"
maximum = "24kW"
queries = ["p95"]
epsilon = "2"
share = "8"
min_coverage = "0.1"
""",
}
PLACES = {"meter": "home", "time": "at", "value": "watts"}


def plan_of(name: str, directory: Path) -> Plan:
    write_key(directory)
    file = directory / "agent.toml"
    file.write_text(HEAD + CONFIGURATIONS[name])
    return ma.policies(file)


def sanitized(rows: list[Row], directory: Path) -> list[bytes]:
    """What the command line writes of the same rows."""
    (directory / "in.jsonl").write_bytes(lines(rows))
    out = directory / "out.jsonl"
    out.unlink(missing_ok=True)
    arguments = ["sanitize", str(directory / "in.jsonl"), "-c", str(directory / "agent.toml")]
    assert main([*arguments, "-o", str(out)]) == 0
    return out.read_bytes().splitlines()


def protected(rows: list[Row], plan: Plan, kind: str = "polars", **more: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ma.ReadingsLost)
        return ma.protect(frame(rows, kind), plan, **{"ledger": None, **PLACES, **more})


@pytest.mark.parametrize("name", CONFIGURATIONS)
@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=ROWS, kind=st.sampled_from(KINDS))
def test_a_frame_is_released_as_its_lines_are(
    name: str, rows: list[Row], kind: str, tmp_path: Path
) -> None:
    plan = plan_of(name, tmp_path)
    released = protected(rows, plan, kind)
    assert type(released) is type(frame([], kind))
    told = [document(row, plan.config.policies) for row in records(released)]
    assert told == sanitized(rows, tmp_path)
