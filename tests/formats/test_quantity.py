"""Energy becomes power exactly, and no unit is taken for another."""

from __future__ import annotations

from fractions import Fraction
from typing import get_args

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from meteragent.errors import InvalidSetting
from meteragent.formats.quantity import UNITS, Quantity, UnitName, unit_in, unit_of
from meteragent.privacy import native
from meteragent.privacy.domain import Domain

ENERGIES = st.sampled_from([*UNITS["energy"]])
INTERVALS = st.sampled_from([1000, 10_000, 420_000, 900_000, 1_800_000, 3_600_000]) | st.integers(
    1, 86_400_000
)
DECIMALS = st.decimals(-(10**7), 10**7, places=6) | st.decimals(-100, 100, places=9)
DOMAIN = Domain("-1000", "24000", "10")
FINE = Domain("-100", "2400", "0.01")


def exactly(domain: Domain, watts: Fraction) -> int:
    """The level of an exact power: clipped, and rounded half up."""
    low, high, step = map(Fraction, (domain.minimum, domain.maximum, domain.step))
    return (min(max(watts, low), high) - low + step / 2) // step


@given(DECIMALS, ENERGIES, INTERVALS)
def test_energy_to_power_and_back_is_the_same_energy(value: str, unit: str, interval: int) -> None:
    energy = Fraction(value) * UNITS["energy"][unit]
    power = Fraction(value) * Quantity("energy", unit, interval).ratio
    assert power * Fraction(interval, 3_600_000) == energy


@given(st.lists(DECIMALS.map(float), min_size=1), ENERGIES, INTERVALS)
@example([0.0024999999999], "kWh", 1_800_000)
@example([0.0025], "kWh", 1_800_000)
def test_a_level_is_that_of_the_exact_ratio(values: list[float], unit: str, interval: int) -> None:
    quantity = Quantity("energy", unit, interval)
    watts = quantity.watts(np.array(values))
    for domain in (DOMAIN, FINE):
        exact = [exactly(domain, Fraction(repr(value)) * quantity.ratio) for value in values]
        assert domain.levels(watts).tolist() == exact


@given(st.floats(allow_nan=False, allow_infinity=False), ENERGIES, INTERVALS)
@example(1.7e308, "MWh", 1)
@example(-1.7e308, "MWh", 1)
def test_any_number_stays_finite(value: float, unit: str, interval: int) -> None:
    watts = Quantity("energy", unit, interval).watts(np.array([value, np.nan]))
    exact = exactly(DOMAIN, Fraction(repr(value)) * Quantity("energy", unit, interval).ratio)
    assert DOMAIN.levels(watts).tolist() == [exact, -1]


SPECIAL = [0.0, -0.0, 2.0**52, -(2.0**52), 4503.599627370495, 4503599.627370496, 5e-324, 0.1 + 0.2]
ANY = st.floats(allow_infinity=False) | DECIMALS.map(float) | st.sampled_from(SPECIAL)


@pytest.mark.fast
@given(st.lists(ANY), ENERGIES, INTERVALS)
@example(SPECIAL, "kWh", 10_000)
@example(SPECIAL, "MWh", 1)
@example(SPECIAL, "mWh", 86_399_999)
def test_the_wheel_finds_the_watts_that_the_twin_finds(
    values: list[float], unit: str, interval: int
) -> None:
    quantity = Quantity("energy", unit, interval)
    watts, left = native.wheel.watts(np.array(values), quantity.ratios)
    its_watts, its_left = quantity.plain(np.array(values))
    assert left.tolist() == its_left.tolist()
    plain = np.setdiff1d(np.arange(len(values)), left)
    assert watts[plain].tobytes() == its_watts[plain].tobytes()


def test_watts_are_the_same_without_a_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.array([*SPECIAL, np.nan, 0.0025])
    watts = Quantity("energy", "kWh", 10_000).watts(values)
    monkeypatch.setattr(native, "wheel", None)
    assert Quantity("energy", "kWh", 10_000).watts(values).tobytes() == watts.tobytes()


def test_power_is_scaled_and_never_infinite() -> None:
    values = np.array([0.0055, np.nan, 1.7e308])
    assert Quantity().watts(values) is values
    assert Quantity("power", "kW").watts(values)[0] == 5.5
    assert np.isfinite(Quantity("power", "MW").watts(values)).tolist() == [True, False, True]


def test_units_are_as_large_as_everybody_says() -> None:
    assert UNITS["power"] == {
        "W": 1,
        "kW": 1000,
        "MW": 10**6,
        "var": 1,
        "kvar": 1000,
        "Mvar": 10**6,
        "l/h": 1,
        "l/min": 60,
        "l/s": 3600,
        "m3/h": 1000,
    }
    assert UNITS["energy"] == UNITS["register"]
    assert UNITS["energy"] == {
        "mWh": Fraction(1, 1000),
        "Wh": 1,
        "kWh": 1000,
        "MWh": 10**6,
        "varh": 1,
        "kvarh": 1000,
        "Mvarh": 10**6,
        "l": 1,
        "m3": 1000,
    }


def _called(kind: str) -> str:
    return "energy" if kind == "register" else kind


@pytest.mark.parametrize(
    ("kind", "unit", "instead"),
    [
        *(("power", "kWh", 'kind = "energy"'), ("energy", "W", 'kind = "power"')),
        *(("power", "m3", 'kind = "energy", or one of l/h, '), ("energy", "var", 'kind = "power"')),
        *(("power", "x", "W"), ("register", "l/s", 'kind = "power", or one of l, m3 here')),
    ],
)
def test_a_unit_of_another_kind_is_refused(kind: str, unit: str, instead: str) -> None:
    with pytest.raises(
        InvalidSetting, match=f"unit: is not a unit of {_called(kind)}; .*{instead}"
    ):
        Quantity(kind, unit)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        *((unit, unit) for unit in get_args(UnitName)),
        *(("watts", "W"), (" [kWh] ", "kWh"), ("KWH", "kWh"), ("mwh", "MWh"), ("kw", "kW")),
        *(("L", "l"), ("litres", "l"), ("m³", "m3"), ("M3/h", "m3/h"), ("L/min", "l/min")),
        *(("VARh", "varh"), ("kVAr", "kvar"), ("MVAR", "Mvar"), ("Mvarh", "Mvarh")),
        *(("", None), ("ft3", None), ("VA", None), ("°C", None), ("A", None), ("l3", None)),
        ("0.0.2.4.1.1.12.0.0.0.0.0.0.0.0.3.72.0", "kWh"),
        ("0.0.2.4.19.1.12.0.0.0.0.0.0.0.0.3.72.0", None),  # delivered
        ("0.0.0.1.1.1.12.0.0.0.0.0.0.0.0.3.72.0", None),  # a register
    ],
)
def test_a_unit_is_known_by_its_spellings(text: str, unit: str | None) -> None:
    assert unit_of(text) == unit


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        *(("KWH/hh (per half hour)", "kWh"), ("consumo_kWh", "kWh"), ("active_power_w", "W")),
        *(("value", None), ("window", None), ("Watts", None), ("W", "W"), ("Power (kW)", "kW")),
        *(
            ("gas_m3", "m3"),
            ("flow (l/min)", "l/min"),
            ("q_kvarh", "kvarh"),
            ("Volume m³/h", "m3/h"),
        ),
        *(("power_l1", None), ("level", None), ("variant", None), ("dm3", None)),
    ],
)
def test_a_name_may_say_its_unit(name: str, unit: str | None) -> None:
    assert unit_in(name) == unit
