"""Frames of homes in, sums of their groups out: what `sanitize --groups` says, to the last bit."""

from __future__ import annotations

import subprocess
import sys
import warnings
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import meteragent as ma
from meteragent.cli import main
from meteragent.commands.exit_codes import Exit
from meteragent.errors import ConfigRefused, FileRefused, InvalidSetting
from meteragent.files.ledger import look
from meteragent.library import rows as rows_module
from tests import given as start
from tests.files.given import BEGIN, MINUTE, write_key
from tests.library.written import KINDS, Row, document, frame, lines, of_kind, records

if TYPE_CHECKING:
    from pathlib import Path

PLACES: dict[str, Any] = {"meter": "home", "time": "at", "value": "watts"}
SUMS = """
[[group]]
name = "feeder"
window = "30m"
interval = "5m"
maximum = "100kW"
home_maximum = "24kW"
epsilon = "1"
radius = "1kW"
budget = "48"
min_homes = 2
queries = ["avg", "max"]
"""
CONFIGURATIONS = {
    "two queries": SUMS,
    "one draw for all": SUMS.replace("budget", 'noise = "joint"\nbudget'),
    "layers": SUMS.replace('"30m"', '"15m"').replace('"max"', '"layers(6kW)"'),
    "a budget that ends": SUMS.replace('"48"', '"3"').replace('"avg", ', ""),
    "two policies, and groups of none": '[budget]\namount = "60"\ngroups = "48"\nradius = "1kW"\n'
    + SUMS.replace('budget = "48"', 'share = "24"\nmatch = "feeder-"')
    + SUMS.replace("feeder", "by hour")
    .replace('budget = "48"', 'share = "24"\nmatch = "feeder-"')
    .replace("30m", "1h"),
}
MEMBERS = [(f"home-{n}", f"feeder-{n % 2}") for n in range(6)] + [("home-7", "other")]
GROUPS = pl.DataFrame(MEMBERS, schema=["meter_id", "group_id"], orient="row")
HOMES = st.lists(
    st.builds(
        Row,
        st.sampled_from([f"home-{n}" for n in range(8)]),
        st.integers(0, 36).map(lambda five: BEGIN + 5 * five * MINUTE),
        st.none() | st.floats(-1e3, 3e4) | st.sampled_from([0.0, 250.0, 5e9]),
    ),
    max_size=150,
)
DAY = [
    Row(f"home-{home}", BEGIN + 5 * five * MINUTE, 100.0 * home + five)
    for five in range(72)
    for home in range(8)
]


def plan_in(directory: Path, name: str = "two queries") -> ma.PolicyPlan:
    write_key(directory)
    file = directory / "agent.toml"
    file.write_text('[agent]\nkey_file = "noise.key"\n' + CONFIGURATIONS[name])
    GROUPS.write_csv(directory / "groups.csv")
    return ma.policies(file)


def sanitized(rows: list[Row], directory: Path) -> list[bytes]:
    (directory / "in.jsonl").write_bytes(lines(rows))
    out = directory / "out.jsonl"
    out.unlink(missing_ok=True)
    places = ["-c", str(directory / "agent.toml"), "--groups", str(directory / "groups.csv")]
    done = main(["sanitize", str(directory / "in.jsonl"), *places, "-o", str(out)])
    assert done in {Exit.OK, Exit.NOTHING}
    return out.read_bytes().splitlines()


def protected(rows: list[Row], plan: ma.PolicyPlan, kind: str = "polars", **more: Any) -> Any:
    how = {"ledger": None, "groups": of_kind(GROUPS, kind), **PLACES, **more}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ma.ReadingsLost)
        return ma.protect(frame(rows, kind), plan, **how)


@pytest.mark.parametrize("name", CONFIGURATIONS)
@settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=HOMES, kind=st.sampled_from(KINDS))
def test_a_frame_of_homes_is_released_as_its_lines_are(
    name: str, rows: list[Row], kind: str, tmp_path: Path
) -> None:
    plan = plan_in(tmp_path, name)
    released = protected(rows, plan, kind)
    assert type(released) is type(frame([], kind))
    policies = [one.policy for one in plan.config.groups]
    assert [document(row, policies) for row in records(released)] == sanitized(rows, tmp_path)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_full_frame_of_homes_is_released_as_its_lines_are(
    name: str, kind: str, tmp_path: Path
) -> None:
    plan = plan_in(tmp_path, name)
    rows = records(protected(DAY, plan, kind))
    assert {row["group_id"] for row in rows if row["status"] == "released"} >= {"feeder-0"}
    policies = [one.policy for one in plan.config.groups]
    assert [document(row, policies) for row in rows] == sanitized(DAY, tmp_path)


def test_a_file_of_parquet_is_released_as_its_frame_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("meteragent.library.parquet.AT_ONCE", 50)
    monkeypatch.setattr(rows_module, "AT_ONCE", 50)
    plan = plan_in(tmp_path)
    frame(DAY).write_parquet(tmp_path / "in.parquet")
    places = tmp_path / "in.parquet", tmp_path / "out.parquet"
    groups = tmp_path / "groups.csv"
    tallied = ma.protect_parquet(*places, plan, ledger=None, groups=groups, **PLACES)
    assert tallied.accepted == 72 * 7
    assert pl.read_parquet(tmp_path / "out.parquet").equals(protected(DAY, plan))


def test_a_table_that_sanitize_writes_of_groups_is_the_same(tmp_path: Path) -> None:
    plan = plan_in(tmp_path, "layers")
    sanitized(DAY, tmp_path)
    table = tmp_path / "out.parquet"
    places = ["-c", str(tmp_path / "agent.toml"), "--groups", str(tmp_path / "groups.csv")]
    told = [str(tmp_path / "in.jsonl"), *places, "--format", "parquet", "-o", str(table)]
    assert main(["sanitize", *told]) == Exit.OK
    assert pl.read_parquet(table).equals(protected(DAY, plan))


def test_a_plan_of_groups_is_made_without_a_file() -> None:
    plan = ma.group_policy(
        window="30m",
        interval="5m",
        maximum="100kW",
        home_maximum="24kW",
        epsilon="1",
        radius="1kW",
        budget="48",
        min_homes=4,
    )
    told = protected(DAY, plan, key=start.KEY)
    assert set(told["homes"]) == {1, 3}
    assert set(told["withheld"]) == {"homes"}
    with pytest.raises(ConfigRefused, match=r"^epsilon: "):
        ma.group_policy("feeder", interval="1m", epsilon=0.5)


def test_an_account_is_that_of_the_group(tmp_path: Path) -> None:
    plan, ledger = plan_in(tmp_path), tmp_path / "spend.db"
    half = [row for row in DAY if row.time and row.time < BEGIN + 180 * MINUTE]
    whole = records(protected(DAY, plan))
    first = records(protected(half, plan, ledger=ledger))
    again = records(protected(DAY, plan, ledger=ledger))
    assert first
    assert again
    assert [*first, *again] == whole  # what was decided is late, and is not decided again
    kept = look(ledger)
    assert {*kept.groups} == {"feeder-0", "feeder-1", "other"}
    assert not kept.accounts


MOMENT = datetime(2025, 11, 18, tzinfo=UTC)


@pytest.mark.parametrize("kind", KINDS)
def test_homes_come_and_go(kind: str, tmp_path: Path) -> None:
    """home-0 leaves its group after an hour; to say it as text, as a date or to a file is one."""
    plan = plan_in(tmp_path)
    until = datetime.fromtimestamp(BEGIN / 1000 + 3600, UTC)
    ends = [until if home == "home-0" else None for home, _ in MEMBERS]
    dates = GROUPS.with_columns(until=pl.Series(ends, dtype=pl.Datetime("ms", "UTC")))
    naive = dates.with_columns(pl.col("until").dt.replace_time_zone(None))
    paris = dates.with_columns(
        pl.col("until").dt.convert_time_zone("Europe/Paris").dt.replace_time_zone(None)
    )
    text = dates.with_columns(pl.col("until").dt.to_string("%Y-%m-%dT%H:%M:%SZ"))
    numbers = dates.with_columns(pl.col("until").dt.epoch("ms").cast(pl.Utf8))
    text.write_csv(tmp_path / "groups.csv")
    expected = records(protected(DAY, plan, groups=tmp_path / "groups.csv"))
    assert [row["homes"] for row in expected if row["group_id"] == "feeder-0"][:4] == [3, 3, 2, 2]
    for groups in (dates, naive, text, numbers):
        assert records(protected(DAY, plan, groups=of_kind(groups, kind))) == expected
    there = protected(DAY, plan, groups=of_kind(paris, kind), timezone="Europe/Paris")
    assert records(there) == expected


def test_what_does_not_take_effect_is_said(tmp_path: Path) -> None:
    plan = plan_in(tmp_path, "two policies, and groups of none")
    twice = pl.concat([GROUPS, GROUPS[:1].with_columns(group_id=pl.lit("feeder-1"))])
    told = (
        r"1 groups have no \[\[group\]\]: nothing is released of them; 0 memberships begin later "
        r"than they are to, and 1 never do: .*144 rows rejected: no_group, from row 6"
    )
    with pytest.warns(ma.ReadingsLost, match=told):
        ma.protect(frame(DAY), plan, ledger=None, groups=twice, **PLACES)


def test_what_makes_no_sense_is_refused_by_name(tmp_path: Path) -> None:
    plan = plan_in(tmp_path)

    def refused(problem: str, groups: Any = GROUPS, plan: ma.PolicyPlan = plan) -> None:
        with pytest.raises((InvalidSetting, FileRefused), match=problem):
            protected(DAY, plan, key=start.KEY, groups=groups)

    refused("^groups: is missing, and the plan is for groups only", None)
    meters = ma.policy("tv-content", interval="1m")
    refused("^groups: is given, and the plan is for meters; make one with", plan=meters)
    refused("^groups: is not a pandas or polars data frame", [("home-0", "feeder-0")])
    refused("^groups: has no column group_id; name its columns", GROUPS.drop("group_id"))
    refused("^groups: names no home; pass a row", GROUPS[:0])
    refused("^groups: holds numbers that may have", GROUPS.with_columns(meter_id=pl.lit(1.5)))
    none = GROUPS.with_columns(group_id=pl.lit(None, pl.Utf8))
    refused("^groups, row 0: has no group_id of 1 to 128 characters", none)
    refused("^groups, row 7: says again what row 2 says", pl.concat([GROUPS, GROUPS[2:3]]))
    soon = GROUPS.with_columns(pl.lit("soon").alias("from"))
    refused("^groups, row 0: has no time in the column from", soon)
    refused("none.csv: cannot be read", tmp_path / "none.csv")
    with pytest.raises(InvalidSetting, match=r"^by_meter: closes windows as each meter is heard"):
        ma.protect_parquet("in", "out", plan, ledger=None, groups=GROUPS, by_meter=True)


HUNGER = r"""
import re, sys
import meteragent as ma
plan = ma.group_policy(window="30m", interval="30s", maximum="1MW", home_maximum="24kW",
                       epsilon="1", radius="1kW", budget="10000")
ma.protect_parquet(sys.argv[1], sys.argv[2], plan, key=ma.NoiseKey(bytes(range(32))), ledger=None,
                   groups=sys.argv[3], meter="home", time="at", value="watts")
print(re.search(r"VmHWM:\s+(\d+)", open("/proc/self/status").read())[1])
"""


def test_a_longer_file_of_homes_takes_no_more_memory(tmp_path: Path) -> None:
    """Eight times the rows: less than half of what they would take in Python."""
    homes = pl.DataFrame({"home": [f"home-{n}" for n in range(40)]})
    members = homes.select(meter_id="home", group_id=pl.lit("feeder"))
    members.write_csv(tmp_path / "groups.csv")
    most = []
    for hours in (40, 320):
        moments = pl.DataFrame({"at": range(BEGIN, BEGIN + hours * 3_600_000, 30_000)})
        told = moments.cast(pl.Datetime("ms")).join(homes, how="cross")
        told = told.with_columns(watts=pl.int_range(pl.len()) % 3000 * 1.0)
        path, out = tmp_path / f"{hours}.parquet", tmp_path / f"{hours}.out"
        told.write_parquet(path, row_group_size=100_000)
        done = subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-c", HUNGER, path, out, tmp_path / "groups.csv"],
            check=True,
            capture_output=True,
            text=True,
        )
        assert len(pl.read_parquet(out)) == 2 * hours
        most.append(int(done.stdout) * 1024)
    in_python = 8 + 8 + 60  # a time, a value and a string of each row
    assert most[1] - most[0] < 280 * 120 * 40 * in_python / 2


@pytest.mark.parametrize("kind", KINDS)
def test_registers_of_homes_are_summed_as_those_of_their_lines_are(
    kind: str, tmp_path: Path
) -> None:
    plan = plan_in(tmp_path)
    used = [Row(row.meter, row.time, 1000.0 + 10 * nth) for nth, row in enumerate(DAY)]
    how: dict[str, Any] = {"kind": "register", "unit": "Wh", **PLACES}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ma.ReadingsLost)
        released = records(
            ma.protect(frame(used, kind), plan, ledger=None, groups=of_kind(GROUPS, kind), **how)
        )
    file = tmp_path / "agent.toml"
    file.write_text(file.read_text() + '[input]\nkind = "register"\nunit = "Wh"\n')
    policies = [one.policy for one in plan.config.groups]
    assert [document(row, policies) for row in released] == sanitized(used, tmp_path)
    assert any(row["status"] == "released" for row in released)
