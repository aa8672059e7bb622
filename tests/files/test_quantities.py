"""What is no power: reactive power, and the flow of water and gas, released in units of its own."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from meteragent.cli import main
from meteragent.commands.exit_codes import Exit
from meteragent.config import Config, from_document
from meteragent.errors import ConfigRefused
from meteragent.explain.explain import explain
from meteragent.explain.words import IN_WORDS
from meteragent.formats.quantity import MEASURED, UNITS, Quantity
from meteragent.formats.schema import policy_schema, release_schema
from meteragent.formats.topics import Template
from meteragent.gateway.discovery import documents
from meteragent.privacy.published import policy_of
from meteragent.privacy.units import BASE, SIZES, Measured
from tests.files.test_samples import MIDNIGHT, SAMPLES

Said = pytest.CaptureFixture[str]

FLOW = """
[agent]
key_file = "noise.key"
[input]
{mapping}
[[policy]]
name = "water"
quantity = "flow"
window = "{window}"
interval = "{interval}"
maximum = "10m3/h"
step = "1l/h"
radius = "100l/h"
epsilon = "3000"
budget = "1000000"
"""
WATER = """
meter = "device.name"
time = "last_seen"
value = "volume_m3"
kind = "register"
unit = "m3"
"""
GAS = """
time = "time"
value = "gas_m3"
kind = "energy"
unit = "m3"
decimal = "comma"
"""
REACTIVE = FLOW.replace("flow", "reactive").replace("10m3/h", "5kvar").replace("l/h", "var")


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    assert main(["key", "create", "noise.key"]) == Exit.OK
    return tmp_path


def released(sample: str, text: str, *more: str, code: Exit = Exit.OK) -> list[dict[str, Any]]:
    Path("agent.toml").write_text(text)
    arguments = ("sanitize", str(SAMPLES / sample), "-c", "agent.toml", "-o", "out", *more)
    assert main([*arguments]) == code
    return [json.loads(line) for line in Path("out").read_text().splitlines()]


def of_water() -> str:
    return FLOW.format(mapping=WATER, window="30m", interval="15m")


@pytest.mark.usefixtures("directory")
def test_what_a_register_of_water_counts_becomes_a_flow(capsys: Said) -> None:
    first, second = released("water.jsonl", of_water())
    assert (first["window_start"], second["window_start"]) == (MIDNIGHT, MIDNIGHT + 1_800_000)
    # 20 l and 25 l, then none and 155 l, each in a quarter of an hour
    assert (first["values"]["avg"], second["values"]["avg"]) == (90, 310)
    assert {first["unit"], second["unit"]} == {"l/h"}
    assert not [*Draft202012Validator(release_schema()).iter_errors(first)]
    assert "1 lines rejected (wrong_unit 1 from line 6)" in capsys.readouterr().err


@pytest.mark.usefixtures("directory")
def test_gas_of_an_hour_becomes_a_flow_in_every_output() -> None:
    text = FLOW.format(mapping=GAS, window="2h", interval="1h")
    assert [one["values"]["avg"] for one in released("gas.csv", text)] == [250, 1001]
    Path("out").unlink()
    arguments = ("sanitize", str(SAMPLES / "gas.csv"), "-c", "agent.toml", "-o", "out")
    assert main([*arguments, "--format", "csv"]) == Exit.OK
    header, row = (line.split(",") for line in Path("out").read_text().splitlines()[:2])
    assert dict(zip(header, row, strict=True))["unit"] == "l/h"


@pytest.mark.usefixtures("directory")
def test_reactive_power_has_a_sign() -> None:
    mapping = 'value = "q_var"\nunit = "var"'
    text = REACTIVE.format(mapping=mapping, window="30m", interval="15m")
    found = released("reactive.csv", text + 'minimum = "-5kvar"\n')
    assert [(one["values"]["avg"], one["unit"]) for one in found] == [(-100, "var"), (150, "var")]


@pytest.mark.usefixtures("directory")
def test_arguments_say_it_too(capsys: Said) -> None:
    arguments = "--quantity flow --window 2h --interval 1h --maximum 10m3/h --step 1l/h --radius"
    said = [*arguments.split(), "100l/h", "--epsilon", "3000", "--budget", "1000000"]
    Path("in.csv").write_text(
        "".join(f"w,{MIDNIGHT + n * 3_600_000},{300 + n}\n" for n in range(4))
    )
    more = ("--no-header", "--meter-column", "1", "--time-column", "2", "--value-column", "3")
    rest = ("-o", "out", "--key-file", "noise.key")
    assert main(["sanitize", "in.csv", *said, *more, *rest]) == Exit.OK
    found = [json.loads(line) for line in Path("out").read_text().splitlines()]
    assert [(one["values"]["avg"], one["unit"]) for one in found] == [(301, "l/h"), (303, "l/h")]
    assert main(["explain", *said]) == Exit.OK
    told = capsys.readouterr().out
    assert " W " not in told
    assert "watt" not in told


def document(quantity: Measured, **more: str) -> dict[str, Any]:
    unit = BASE[quantity]
    policy = {"name": "p", "quantity": quantity, "window": "1h", "interval": "15m"}
    sizes = {"maximum": f"3000{unit}", "step": f"10{unit}", "radius": f"100{unit}"}
    return {
        "input": {"unit": unit},
        "policy": [{**policy, **sizes, "epsilon": "1", "budget": "24", **more}],
    }


def config(quantity: Measured, **more: str) -> Config:
    return from_document(document(quantity, **more), Path(), {})


@pytest.mark.parametrize("quantity", SIZES)
def test_a_policy_is_published_and_read_back_with_its_unit(quantity: Measured) -> None:
    policy = config(quantity).policy[0].policy
    said = policy.document()
    assert said.get("unit", "W") == BASE[quantity]
    assert policy_of(said) == policy
    assert not [*Draft202012Validator(policy_schema()).iter_errors(said)]


def test_the_same_numbers_of_other_quantities_are_other_policies_with_other_noise() -> None:
    every = [config(quantity).policy[0].policy for quantity in SIZES]
    assert len({policy.id for policy in every}) == len({p.digest for p in every}) == len(SIZES)


@pytest.mark.parametrize("quantity", SIZES)
def test_what_is_promised_is_said_in_its_units(quantity: Measured) -> None:
    unit = BASE[quantity]
    [guarantee] = config(quantity, step=f"30{unit}").guarantees.values()
    told = [*guarantee.promised().sentences, *explain(guarantee).warnings]
    words = " ".join(told)
    assert IN_WORDS[unit][1] in words
    assert f"50 {unit} either way" in words
    assert f'radius = "90{unit}" or "120{unit}"' in words
    others = {one for base in BASE.values() if base != unit for one in (base, *IN_WORDS[base])}
    assert not [other for other in others if f" {other} " in words.replace("W in whole", "")]


@pytest.mark.parametrize("quantity", SIZES)
def test_home_assistant_is_told_the_unit(quantity: Measured) -> None:
    policy = config(quantity).policy[0].policy
    [(_, text)] = documents("homeassistant", Template("out/{meter}"), policy, "p", "m")
    wanted = {"W": "power", "var": "reactive_power", "l/h": "volume_flow_rate"}
    told = json.loads(text)
    assert told["device_class"] == wanted[BASE[quantity]]
    assert told["unit_of_measurement"].lower() == BASE[quantity].lower()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"input": {}}, "input.unit: is W, and p is about a flow, in l/h; write one of l/h"),
        ({"input": {"unit": "var"}}, "input.unit: is var, and p is about a flow"),
        ({"budget": {"amount": "24"}}, "policy[0].quantity: is not that of the [budget]"),
        (
            {"budget": {"quantity": "flow", "amount": "24"}},
            'budget.radius: is not a flow; write for example "3m3/h"',
        ),
        ({"policy": {"maximum": "3kW"}}, "policy[0].maximum: is not a flow"),
        ({"policy": {"radius": None}}, "policy[0].radius: is not a flow"),
        ({"policy": {"preset": "tv-content"}}, "policy[0].preset: is for power alone"),
        ({"policy": {"quantity": "heat"}}, "policy[0].quantity: is not one of them"),
    ],
)
def test_what_is_of_another_quantity_is_refused(change: dict[str, Any], said: str) -> None:
    made = document("flow")
    [policy] = made["policy"]
    if "policy" in change:
        policy = {**policy, **change.pop("policy")}
        made["policy"] = [{name: its for name, its in policy.items() if its is not None}]
    if "budget" in change:
        made["policy"] = [{name: its for name, its in policy.items() if name != "budget"}]
    with pytest.raises(ConfigRefused) as refused:
        from_document(made | change, Path(), {})
    assert said in str(refused.value)


def test_policies_of_one_account_may_be_about_a_flow() -> None:
    made = document("flow")
    [policy] = made["policy"]
    del policy["budget"]
    made["budget"] = {"quantity": "flow", "radius": "100l/h", "amount": "24"}
    made["policy"] = [
        policy | {"share": "12"},
        policy | {"name": "q", "share": "2", "window": "2h"},
    ]
    assert [one.policy.domain.unit for one in from_document(made, Path(), {}).policy] == ["l/h"] * 2


AMOUNTS = [(kind, unit) for kind in ("energy", "register") for unit in UNITS[kind]]


@given(
    st.sampled_from([unit for kind, unit in AMOUNTS if kind == "energy"]),
    st.integers(-(10**9), 10**9),
    st.sampled_from([60_000, 900_000, 1_800_000, 3_600_000]),
)
def test_an_amount_of_an_interval_is_its_exact_rate(unit: str, thousandths: int, span: int) -> None:
    quantity = Quantity("energy", unit, span)
    exact = Fraction(thousandths, 1000) * UNITS["energy"][unit] * Fraction(3_600_000, span)
    [rate] = quantity.watts(np.array([thousandths / 1000]))
    assert Fraction(float(rate)).limit_denominator(1000) == Fraction(exact * 1000 // 1, 1000)
    assert BASE[quantity.measured] in {"W", "var", "l/h"}
    assert MEASURED[unit] == quantity.measured


@pytest.mark.usefixtures("directory")
def test_gas_behind_a_p1_port_becomes_a_flow(capsys: Said) -> None:
    capsys.readouterr()
    assert main(["convert", str(SAMPLES / "dsmr.txt")]) == Exit.OK
    Path("lines").write_text(capsys.readouterr().out)
    device = "MBUS_DEVICES.0"
    mapping = f"""
meter = "{device}.MBUS_EQUIPMENT_IDENTIFIER.value"
time = "{device}.MBUS_METER_READING.datetime"
value = "{device}.MBUS_METER_READING.value"
unit_field = "{device}.MBUS_METER_READING.unit"
kind = "register"
unit = "m3"
"""
    Path("agent.toml").write_text(FLOW.format(mapping=mapping, window="1h", interval="1h"))
    assert main(["sanitize", "lines", "-c", "agent.toml", "-o", "out"]) == Exit.OK
    [release] = [json.loads(line) for line in Path("out").read_text().splitlines()]
    assert (release["values"]["avg"], release["unit"]) == (255, "l/h")
