"""Frames in, the same frames out: what `sanitize` says of the same readings, to the last bit."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from math import inf
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import meteragent as ma
from meteragent.cli import main
from meteragent.commands.exit_codes import Exit
from meteragent.errors import ConfigRefused, InvalidSetting, KeyRefused, LedgerOfAnother
from meteragent.library.frames import Where, opened
from meteragent.library.session import Session
from tests import given as start
from tests.files.given import BEGIN, MINUTE, write_key
from tests.library.written import KINDS, ROWS, Row, document, frame, lines, of_kind, records

if TYPE_CHECKING:
    from pathlib import Path

    from meteragent.library.plan import PolicyPlan

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
    "some hours alone": HOMES
    + 'min_coverage = "0.1"\nqueries = ["avg[00:00-01:00]", "max", "p95[01:02-01:30]"]\n',
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
PLACES: dict[str, Any] = {"meter": "home", "time": "at", "value": "watts"}


def plan_of(name: str, directory: Path) -> PolicyPlan:
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
    assert main([*arguments, "-o", str(out)]) in {Exit.OK, Exit.NOTHING}
    return out.read_bytes().splitlines()


def protected(rows: list[Row], plan: PolicyPlan, kind: str = "polars", **more: Any) -> Any:
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


DAY = [
    Row(home, BEGIN + half * MINUTE // 2, 100.0 + half)
    for half in range(240)
    for home in ("home-a", "home-b", "barn-1")
]
MANY = "some queries, and a budget that ends"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_full_frame_is_released_as_its_lines_are(name: str, kind: str, tmp_path: Path) -> None:
    plan = plan_of(name, tmp_path)
    rows = records(protected(DAY, plan, kind))
    assert any(row["status"] == "released" for row in rows)
    assert [document(row, plan.config.policies) for row in rows] == sanitized(DAY, tmp_path)


@settings(max_examples=20, deadline=None)
@given(rows=st.permutations(DAY[:120]))
def test_what_is_released_does_not_hang_on_the_order_of_rows(rows: list[Row]) -> None:
    plan = ma.policy(**EVERY_HALF_MINUTE)
    released = [protected(these, plan, key=start.KEY) for these in (DAY[:120], rows)]
    one, other = (its.sort("meter_id", "window_start") for its in released)
    assert len(one) > 0
    assert one.equals(other)


EVERY_HALF_MINUTE: dict[str, Any] = {
    "window": "5m",
    "interval": "30s",
    "maximum": "24kW",
    "epsilon": "1",
    "budget": "240",
}


def test_what_was_decided_is_not_decided_again(tmp_path: Path) -> None:
    plan, ledger = ma.policy(**EVERY_HALF_MINUTE), tmp_path / "spend.db"
    first = protected(DAY, plan, key=start.KEY, ledger=ledger)
    assert len(first) > 0
    with pytest.warns(ma.ReadingsLost, match="720 readings came after their windows had closed"):
        again = ma.protect(frame(DAY), plan, key=start.KEY, ledger=ledger, **PLACES)
    assert len(again) == 0
    assert again.schema == first.schema
    other = protected(DAY, plan, key=start.KEY, ledger=None)
    assert other.equals(first)


def test_a_budget_is_one_for_all_frames(tmp_path: Path) -> None:
    plan = ma.policy(**{**EVERY_HALF_MINUTE, "budget": "3"})
    ledger = tmp_path / "spend.db"
    halves = DAY[:360], DAY[360:]
    rows = [
        row
        for half in halves
        for row in records(protected(half, plan, key=start.KEY, ledger=ledger))
    ]
    of_one = [row["withheld"] for row in rows if row["meter_id"] == "home-a"]
    assert of_one == [None] * 3 + ["budget"] * 21


def test_a_ledger_of_another_key_is_refused(tmp_path: Path) -> None:
    plan, ledger = ma.policy(**EVERY_HALF_MINUTE), tmp_path / "spend.db"
    protected(DAY, plan, key=start.KEY, ledger=ledger)
    with pytest.raises(LedgerOfAnother):
        protected(DAY, plan, key=ma.NoiseKey(bytes(range(1, 33))), ledger=ledger)
    protected(DAY, plan, key=start.KEY, ledger=ledger)  # it was let go of


def test_what_is_lost_is_said() -> None:
    rows = [*DAY, Row("", BEGIN, 1.0), Row("home-a", None, 1.0), Row("home-a", BEGIN, inf), DAY[5]]
    told = (
        "1 readings share a slot with one before (is interval too long?); "
        "1 rows rejected: bad_meter, from row 720; 1 rows rejected: bad_time, from row 721; "
        "1 rows rejected: bad_value, from row 722"
    )
    with pytest.warns(ma.ReadingsLost, match=f"^{re.escape(told)}$"):
        ma.protect(
            frame(rows), ma.policy(**EVERY_HALF_MINUTE), key=start.KEY, ledger=None, **PLACES
        )


def test_meters_without_a_policy_are_said_by_their_first_row() -> None:
    plan = ma.policy(match="home-", **EVERY_HALF_MINUTE)
    with pytest.warns(ma.ReadingsLost, match="240 rows rejected: no_policy, from row 2$"):
        ma.protect(frame(DAY), plan, key=start.KEY, ledger=None, **PLACES)


def test_windows_that_are_not_over_wait(tmp_path: Path) -> None:
    plan = ma.policy(**EVERY_HALF_MINUTE)
    with Session(plan, start.KEY, tmp_path / "db", wall=lambda: BEGIN / 1000 + 600) as session:
        cells = Where(**PLACES).cells(opened(frame(DAY)))
        closed = [session.feed(cells, by_time=True), session.end()]
        assert session.tallied.open
        assert "wait" in "; ".join(session.tallied.lost)
        assert sum(len(part["meter_id"]) for part in closed) < 72


@pytest.mark.parametrize("kind", KINDS)
def test_times_are_read_however_they_are_written(kind: str) -> None:
    rows = [row for row in DAY if row.meter == "home-a"]
    plan = ma.policy(**EVERY_HALF_MINUTE)
    expected = records(protected(rows, plan, kind, key=start.KEY))
    base = frame(rows)
    paris = base["at"].dt.convert_time_zone("Europe/Paris")
    ways: list[tuple[Any, dict[str, Any]]] = [
        (base["at"].dt.replace_time_zone(None), {}),
        (paris, {}),
        (paris.dt.replace_time_zone(None), {"timezone": "Europe/Paris"}),
        (base["at"].dt.epoch("ms"), {"time_format": "unix_ms"}),
        (base["at"].dt.epoch("s"), {"time_format": "unix"}),
        (base["at"].dt.epoch("ms") / 1000, {"time_format": "unix"}),
        (base["at"].dt.to_string("%Y-%m-%dT%H:%M:%SZ"), {}),
        (base["at"].dt.to_string("%d.%m.%Y %H:%M:%S"), {"time_format": "%d.%m.%Y %H:%M:%S"}),
        (paris.dt.to_string("%Y-%m-%d %H:%M:%S"), {"timezone": "Europe/Paris"}),
    ]
    for column, how in ways:
        told = of_kind(base.with_columns(column.alias("at")), kind)
        found = ma.protect(told, plan, key=start.KEY, ledger=None, **PLACES, **how)
        assert records(found) == expected, how


@pytest.mark.parametrize("kind", KINDS)
def test_what_cannot_be_read_is_no_reading(kind: str) -> None:
    told = pl.DataFrame(
        {
            "home": ["home-a"] * 4,
            "at": ["2025-11-18T00:00:00Z", "yesterday", None, "2025-11-18T00:00:30Z"],
            "watts": [1.0, 2.0, 3.0, None],
        }
    )
    with pytest.warns(ma.ReadingsLost, match="2 rows rejected: bad_time, from row 1"):
        ma.protect(
            of_kind(told, kind),
            ma.policy(**EVERY_HALF_MINUTE),
            key=start.KEY,
            ledger=None,
            **PLACES,
        )


@pytest.mark.parametrize("kind", KINDS)
def test_meters_may_be_numbers_or_categories_and_values_kilowatts(kind: str) -> None:
    plan = ma.policy(**EVERY_HALF_MINUTE)
    rows = [row._replace(meter="17") for row in DAY if row.meter == "home-a"]
    expected = records(protected(rows, plan, kind, key=start.KEY))
    base = frame(rows)
    for home in (pl.lit(17), pl.col("home").cast(pl.Categorical)):
        told = of_kind(base.with_columns(home.alias("home"), pl.col("watts") / 1000), kind)
        found = ma.protect(told, plan, key=start.KEY, ledger=None, unit="kW", **PLACES)
        assert records(found) == expected
    one = ma.protect(
        of_kind(base.drop("home"), kind),
        plan,
        key=start.KEY,
        ledger=None,
        meter_id="17",
        time="at",
        value="watts",
    )
    assert records(one) == expected


def test_what_makes_no_sense_is_refused_by_name(tmp_path: Path) -> None:
    plan, told = ma.policy(**EVERY_HALF_MINUTE), frame(DAY)

    def refused(problem: str, given: Any = told, **more: Any) -> None:
        with pytest.raises(InvalidSetting, match=f"^{re.escape(problem)}"):
            ma.protect(given, plan, **{"key": start.KEY, "ledger": None, **PLACES, **more})

    refused("time: there is no column 'ts'; name one of 'home', 'at', 'watts'", time="ts")
    refused("unit: is not a unit of power", unit="hp")
    refused("time_format: is not a time format", time_format="when")
    refused("timezone: is not a known time zone", timezone="Europe/Atlantis")
    refused("frame: is not a pandas or polars data frame", [1, 2])
    refused("frame: is not a pandas or polars data frame", told.lazy())
    refused("value: holds no numbers", value="home")
    refused("meter: holds numbers that may have a fraction", meter="watts")
    refused("time: holds numbers", time="watts")
    with pytest.raises(KeyRefused, match="meteragent key create"):
        ma.protect(told, plan, key=tmp_path / "none.key", ledger=None, **PLACES)
    with pytest.raises(KeyRefused, match=r"agent\.key_file: is not set"):
        ma.protect(told, plan, ledger=None, **PLACES)
    with pytest.raises(ConfigRefused, match=r"^epsilon: "):
        ma.policy("tv-content", epsilon=0.5)


def test_a_key_is_made_and_used(tmp_path: Path) -> None:
    ma.create_key(tmp_path / "noise.key")
    plan = ma.policy(**EVERY_HALF_MINUTE)
    twice = [protected(DAY, plan, key=tmp_path / "noise.key") for _ in range(2)]
    assert twice[0].equals(twice[1])


def test_every_public_name_is_there() -> None:
    for name in ma.__all__:
        assert getattr(ma, name) is not None
    with pytest.raises(AttributeError):
        ma.nothing  # noqa: B018 - to look is enough


def test_frames_are_no_business_of_the_command_line() -> None:
    seen = "import meteragent.cli, sys; print(*({'narwhals', 'pandas', 'polars'} & {*sys.modules}))"
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-c", seen], check=True, capture_output=True, text=True
    )
    assert done.stdout == "\n"


@pytest.mark.parametrize(
    ("missing", "name", "extra"),
    [("narwhals", "protect", "frames"), ("pyarrow", "protect_parquet", "parquet")],
)
def test_what_is_not_installed_is_named_with_its_extra(missing: str, name: str, extra: str) -> None:
    program = (
        f"import sys; sys.modules['{missing}'] = None\n"
        "import meteragent as ma\n"
        "ma.policy('tv-content').explain()\n"
        f"ma.{name}"
    )
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", program], check=False, capture_output=True, text=True
    )
    assert done.stderr.endswith(f"not installed: pip install 'meteragent[{extra}]'\n")
