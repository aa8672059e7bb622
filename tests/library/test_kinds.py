"""Frames of energy and registers, and of what is no power, are released as their lines are."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import meteragent as ma
from meteragent.cli import main
from meteragent.commands.exit_codes import Exit
from meteragent.errors import InvalidSetting

if TYPE_CHECKING:
    from pathlib import Path

    from meteragent.library.plan import PolicyPlan

QUARTER, BEGIN = 900_000, 1_709_251_200_000
KEY = ma.NoiseKey(bytes(range(32)))
POWER = """
[[policy]]
name = "p"
window = "1h"
interval = "15m"
maximum = "24kW"
step = "1W"
epsilon = "1"
budget = "240"
"""
FLOW = (
    POWER.replace('window = "1h"', 'window = "1h"\nquantity = "flow"\nradius = "50l/h"')
    .replace("24kW", "5m3/h")
    .replace("1W", "1l/h")
)
SHOWN = [812.4, 812.42, 812.445, 812.445, 812.6, 812.61, 812.7, 3.0, 3.1, 3.2, 3.25, 3.3, 3.35]
"""What a register shows that is exchanged once."""


def frame(values: list[float]) -> pl.DataFrame:
    times = [BEGIN + n * QUARTER for n in range(len(values))]
    return pl.DataFrame({"meter_id": ["m"] * len(values), "ts": times, "value": values})


def sanitized(values: list[float], directory: Path, text: str, said: str) -> list[dict[str, Any]]:
    (directory / "noise.key").write_text(bytes(range(32)).hex())
    (directory / "noise.key").chmod(0o600)
    file = directory / "agent.toml"
    file.write_text(f'[agent]\nkey_file = "noise.key"\n[input]\n{said}\n{text}')
    rows = [
        json.dumps({"meter_id": "m", "ts": BEGIN + n * QUARTER, "value": value})
        for n, value in enumerate(values)
    ]
    (directory / "in").write_text("\n".join(rows))
    out = directory / "out"
    assert main(["sanitize", str(directory / "in"), "-c", str(file), "-o", str(out)]) == Exit.OK
    return [json.loads(line) for line in out.read_text().splitlines()]


@pytest.mark.parametrize(
    ("text", "kind", "unit", "stamp"),
    [
        (POWER, "power", "kW", "end"),
        (POWER, "energy", "kWh", "start"),
        (POWER, "energy", "Wh", "end"),
        (POWER, "register", "kWh", "start"),
        (FLOW, "register", "m3", "start"),
        (FLOW, "energy", "l", "end"),
        (FLOW, "power", "l/min", "start"),
    ],
)
def test_a_frame_means_what_its_lines_do(
    tmp_path: Path, text: str, kind: Any, unit: str, stamp: Any
) -> None:
    said = f'kind = "{kind}"\nunit = "{unit}"\nstamp = "{stamp}"'
    lines = sanitized(SHOWN, tmp_path, text, said)
    ours = ma.policies(tmp_path / "agent.toml")
    more: dict[str, Any] = {"kind": kind, "unit": unit, "stamp": stamp, "time_format": "unix_ms"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ma.ReadingsLost)
        found = ma.protect(frame(SHOWN), ours, key=KEY, ledger=None, **more)
    assert len(lines) >= 3
    assert [(one["window_start"], one["values"].get("avg"), one["unit"]) for one in lines] == [
        (int(row["window_start"].timestamp() * 1000), row["avg"], row["unit"])
        for row in found.iter_rows(named=True)
    ]


def plan(**more: str) -> PolicyPlan:
    settings = {"window": "1h", "interval": "15m", "epsilon": "1", "budget": "24"}
    return ma.policy(**settings, **more)


def test_a_policy_of_a_flow_takes_its_own_unit_where_none_is_said() -> None:
    flows = plan(quantity="flow", maximum="5m3/h", step="1l/h", radius="50l/h")
    for kind, unit in (("power", "l/h"), ("energy", "l"), ("register", "l")):
        assert flows.meaning(kind, None, "start").quantity.unit == unit  # type: ignore[arg-type]


def test_what_a_register_showed_last_is_kept_from_one_call_to_the_next(tmp_path: Path) -> None:
    ours, ledger = plan(maximum="24kW"), tmp_path / "ledger"
    more: dict[str, Any] = {"kind": "register", "unit": "kWh", "time_format": "unix_ms"}
    shown = [100.0 + n / 10 for n in range(13)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ma.ReadingsLost)
        whole = ma.protect(frame(shown), ours, key=KEY, ledger=None, **more)
        first = ma.protect(frame(shown)[:5], ours, key=KEY, ledger=ledger, **more)
        rest = ma.protect(frame(shown)[5:], ours, key=KEY, ledger=ledger, **more)
    assert pl.concat([first, rest]).equals(whole)
    assert whole["avg"].null_count() == 0


@pytest.mark.parametrize(
    ("kind", "unit", "stamp", "said"),
    [
        ("none", None, "start", 'kind: is none; write "power" or "energy" or "register"'),
        ("power", None, "middle", 'stamp: is none; write "start" or "end"'),
        ("power", "kWh", "start", "unit: is not a unit of power"),
        ("energy", "m3", "start", "unit: is m3, and policy is about power, in W"),
    ],
)
def test_what_numbers_cannot_mean_is_refused(kind: Any, unit: Any, stamp: Any, said: str) -> None:
    with pytest.raises(InvalidSetting, match=said):
        plan(maximum="24kW").meaning(kind, unit, stamp)


def test_energy_needs_one_interval(tmp_path: Path) -> None:
    other = POWER.replace('"p"', '"q"\nmatch = "q-"').replace('"15m"', '"5m"')
    file = tmp_path / "agent.toml"
    file.write_text(POWER + other)
    both = ma.policies(file)
    assert both.meaning("power", "kW", "start").earlier == 0
    for kind, stamp, name in (("energy", "start", "kind"), ("power", "end", "stamp")):
        with pytest.raises(InvalidSetting, match=f"{name}: needs to know the interval"):
            both.meaning(kind, None, stamp)  # type: ignore[arg-type]
