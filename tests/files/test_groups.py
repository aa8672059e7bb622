"""Groups of homes from files: `sanitize --groups`."""

from __future__ import annotations

import csv
import io
import json
import random
import re
import sqlite3
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from meteragent.cli import main
from meteragent.commands.exit_codes import Exit
from meteragent.errors import FileRefused
from meteragent.explain.document import explanation_schema
from meteragent.files import ledger_tables, members
from meteragent.files.ledger import SqliteLedger, look
from meteragent.formats.schema import release_schema
from meteragent.privacy.members import ALWAYS, FOR_EVER, Membership
from tests.files.given import BEGIN, MINUTE, in_small_blocks, write_key

CONFIGURATION = """
[agent]
key_file = "noise.key"
[[group]]
name = "feeder"
window = "30m"
interval = "5m"
maximum = "100kW"
home_maximum = "24kW"
epsilon = "1"
radius = "1kW"
budget = "48"
min_homes = 3
queries = ["avg", "max"]
"""
ARGUMENTS = ["sanitize", "in.jsonl", "-c", "agent.toml", "--groups", "groups.csv"]
KEPT = [*ARGUMENTS, "-o", "out.jsonl", "--ledger", "spend.db"]
MEMBERS = "".join(f"home-{n},feeder-{n % 2}\n" for n in range(8))


def lines(minutes: int, seed: int = 0) -> list[str]:
    """Homes that are heard every five minutes or so, one of which is in no group."""
    draw, found = random.Random(seed), []
    for minute in range(0, minutes, 5):
        for home in range(9):
            if draw.random() < 0.8:
                time = BEGIN + minute * MINUTE
                reading = {"meter_id": f"home-{home}", "ts": time, "value": draw.randrange(3000)}
                found.append(json.dumps(reading) + "\n")
    return found


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.toml").write_text(CONFIGURATION)
    (tmp_path / "groups.csv").write_text("meter_id,group_id\n" + MEMBERS)
    (tmp_path / "in.jsonl").write_text("".join(lines(240)))
    write_key(tmp_path)
    return tmp_path


def released(path: str = "out.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def test_a_release_names_its_group_and_how_many_members_it_has() -> None:
    assert main(KEPT) == Exit.OK
    found = released()
    assert {one["group_id"] for one in found} == {"feeder-0", "feeder-1"}
    assert len(found) == 16
    assert all(one["homes"] == 4 and "meter_id" not in one for one in found)
    assert all(one["values"]["avg"] <= one["values"]["max"] for one in found)
    assert "readings" not in found[0]


def test_a_table_has_columns_for_groups(capfd: pytest.CaptureFixture[str]) -> None:
    assert main([*ARGUMENTS, "--format", "csv"]) == Exit.OK
    header, first, *_ = capfd.readouterr().out.splitlines()
    assert header.startswith("group_id,window_start,window_end,status,withheld,unit,policy,homes,")
    assert first.startswith(f"feeder-0,{BEGIN},{BEGIN + 30 * MINUTE},released,,W,")


LAYERED = CONFIGURATION.replace('window = "30m"', 'window = "15m"').replace(
    '"max"', '"layers(6kW)"'
)


FEEDERS = [*ARGUMENTS, "--format", "lv-feeder"]
COUNT = "aggregated_device_count_active"
TABLE = CONFIGURATION[CONFIGURATION.index("[[group]]") :].replace("budget", "share")
TWO_OF_A_GROUP = (
    '[agent]\nkey_file = "noise.key"\n[budget]\namount = "96"\ngroups = "96"\nradius = "1kW"\n'
    + TABLE
    + TABLE.replace('"feeder"', '"other"')
)
QUOTED = '"s,2"'
IDENTIFIED = "meter_id,group_id,dno_alias,secondary_substation_id,lv_feeder_id\n" + "".join(
    f"home-{n},feeder-{n % 2},NORTH,{'s-1' if n % 2 else QUOTED},{'' if n % 2 else '7'}\n"
    for n in range(8)
)


def test_the_table_of_feeders_has_its_columns_and_the_count_of_members(
    directory: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (directory / "groups.csv").write_text(IDENTIFIED)
    assert main(KEPT) == Exit.OK
    capfd.readouterr()
    assert main(FEEDERS) == Exit.OK
    rows = [*csv.DictReader(io.StringIO(capfd.readouterr().out))]
    assert [*rows[0]] == [
        "dataset_id",
        "dno_alias",
        "secondary_substation_id",
        "lv_feeder_id",
        "aggregated_device_count_active",
        "total_consumption_active_import",
        "data_collection_log_timestamp",
    ]
    assert len(rows) == 16
    for row, one in zip(rows, released(), strict=True):
        even = one["group_id"] == "feeder-0"
        assert (row["dataset_id"], row["dno_alias"]) == ("", "NORTH")
        assert row["secondary_substation_id"] == ("s,2" if even else "s-1")
        assert row["lv_feeder_id"] == ("7" if even else "feeder-1")
        assert row["aggregated_device_count_active"] == "4"
        assert row["total_consumption_active_import"] == f"{one['unbiased']['avg'] / 2:.1f}"
        end = datetime.fromisoformat(row["data_collection_log_timestamp"])
        assert row["data_collection_log_timestamp"].endswith(".000Z")
        assert end == datetime.fromtimestamp(one["window_end"] / 1000, UTC)


def test_the_table_of_feeders_is_one_of_parquet_too(
    directory: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A run that goes on makes it anew of all rows."""
    (directory / "groups.csv").write_text(IDENTIFIED + "home-8,lonely,SOUTH,s-3,\n")
    assert main(FEEDERS) == Exit.OK
    rows = [*csv.DictReader(io.StringIO(capfd.readouterr().out))]
    table = [*KEPT, "--format", "lv-feeder-parquet"]
    table[table.index("-o") + 1] = "feeders.parquet"
    for _ in range(2):
        assert main(table) == Exit.OK
        found = pq.read_table("feeders.parquet")
        assert found.schema.field("data_collection_log_timestamp").type == pa.timestamp("ms", "UTC")
        assert found.schema.field("aggregated_device_count_active").type == pa.int64()
        for row, one in zip(rows, found.to_pylist(), strict=True):
            energy = row.pop("total_consumption_active_import")
            assert one.pop("total_consumption_active_import") == (float(energy) if energy else None)
            time = datetime.fromisoformat(row["data_collection_log_timestamp"])
            told = {**row, "data_collection_log_timestamp": time}
            assert told | {"aggregated_device_count_active": int(row[COUNT])} == one
            row["total_consumption_active_import"] = energy
    assert {row["total_consumption_active_import"] == "" for row in rows} == {True, False}


def test_a_feeder_of_few_members_has_rows_without_consumption(
    directory: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (directory / "groups.csv").write_text("meter_id,group_id\nhome-0,a\nhome-1,a\n")
    assert main(FEEDERS) == Exit.OK
    _, first, *_ = capfd.readouterr().out.splitlines()
    assert first.startswith(",,,a,2,,2")


def test_consumption_is_found_behind_other_answers(
    directory: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    asked = LAYERED.replace('["avg", "layers(6kW)"]', '["layers(6kW)", "avg"]')
    (directory / "agent.toml").write_text(asked)
    assert main(KEPT) == Exit.OK
    capfd.readouterr()
    assert main(FEEDERS) == Exit.OK
    rows = csv.DictReader(io.StringIO(capfd.readouterr().out))
    found = [row["total_consumption_active_import"] for row in rows]
    assert found == [f"{one['unbiased']['avg'] / 4:.1f}" for one in released()]


@pytest.mark.parametrize(
    ("configuration", "arguments", "told"),
    [
        (CONFIGURATION.replace('"avg", ', ""), FEEDERS, "queries: is without avg, from which"),
        (
            CONFIGURATION.replace("kW", "m3/h").replace(
                "[[group]]", '[input]\nunit = "l/h"\n[[group]]\nquantity = "flow"\nstep = "10l/h"'
            ),
            FEEDERS,
            "quantity: is in l/h, and lv-feeder says consumption in Wh; write --format csv",
        ),
        (
            TWO_OF_A_GROUP,
            FEEDERS,
            "--format: has one policy's rows, and some groups have several [[group]]; leave one",
        ),
        (
            CONFIGURATION.replace("[[group]]", "[[policy]]")
            .replace("min_homes = 3\n", "")
            .replace('home_maximum = "24kW"\n', ""),
            ["sanitize", "in.jsonl", "-c", "agent.toml", "--format", "lv-feeder"],
            "--format: is for groups, and there is no --groups; write csv",
        ),
    ],
)
def test_a_table_of_feeders_that_could_not_be_read_is_refused(
    configuration: str,
    arguments: list[str],
    told: str,
    directory: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    (directory / "agent.toml").write_text(configuration)
    assert main(arguments) == Exit.CONFIGURATION
    assert f"meteragent: {told}" in capfd.readouterr().err


def test_a_group_is_one_feeder(directory: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (directory / "groups.csv").write_text(IDENTIFIED.replace("s-1", "s-9", 1))
    assert main(FEEDERS) != Exit.OK
    told = "groups.csv, line 5: names another feeder for its group than an earlier line; compare"
    assert told in capfd.readouterr().err


def test_layers_are_lists_of_all_homes_together(
    directory: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (directory / "agent.toml").write_text(LAYERED)
    assert main(KEPT) == Exit.OK
    found, schema = released(), jsonschema.Draft202012Validator(release_schema())
    for one in found:
        schema.validate(one)
        assert len(one["values"]["layers(6kW)"]) == len(one["unbiased"]["layers(6kW)"]) == 4
        assert one["epsilon"]["layers(6kW)"] == one["epsilon"]["avg"]
    assert main([*ARGUMENTS, "--format", "csv"]) == Exit.OK
    rows = csv.DictReader(io.StringIO(capfd.readouterr().out))
    assert [json.loads(row["layers(6kW)"]) for row in rows] == [
        one["values"]["layers(6kW)"] for one in found
    ]


def test_layers_go_on_where_the_ledger_says(directory: Path) -> None:
    (directory / "agent.toml").write_text(LAYERED)
    assert main(KEPT) == Exit.OK
    whole, every = Path("out.jsonl").read_bytes(), lines(240)
    for name in ("out.jsonl", "spend.db"):
        (directory / name).unlink()
    for end in (150, len(every)):
        (directory / "in.jsonl").write_text("".join(every[:end]))
        assert main([*KEPT, "--at-end", "keep" if end < len(every) else "close"]) == Exit.OK
    assert Path("out.jsonl").read_bytes() == whole


def test_meters_that_are_in_no_group_are_rejected(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(KEPT) == Exit.OK
    assert "(no_group " in capfd.readouterr().err


def test_groups_of_few_members_are_withheld(directory: Path) -> None:
    (directory / "groups.csv").write_text("meter_id,group_id\nhome-0,a\nhome-1,a\n")
    assert main(KEPT) == Exit.OK
    assert {(one["status"], one.get("withheld"), one["homes"]) for one in released()} == {
        ("suppressed", "homes", 2)
    }


def test_a_run_that_goes_on_releases_what_one_run_does(directory: Path) -> None:
    assert main(KEPT) == Exit.OK
    whole = Path("out.jsonl").read_bytes()
    every = lines(240)
    for name in ("out.jsonl", "spend.db"):
        (directory / name).unlink()
    for end in (200, 201, 240, len(every)):
        (directory / "in.jsonl").write_text("".join(every[:end]))
        assert main([*KEPT, "--at-end", "keep" if end < len(every) else "close"]) == Exit.OK
    assert Path("out.jsonl").read_bytes() == whole


def test_small_blocks_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    assert main([*ARGUMENTS, "-o", "whole.jsonl"]) == Exit.OK
    in_small_blocks(monkeypatch.setattr, 7)
    assert main(KEPT) == Exit.OK
    assert Path("out.jsonl").read_bytes() == Path("whole.jsonl").read_bytes()


def test_what_has_begun_keeps_its_members(
    directory: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    every = lines(240)
    (directory / "in.jsonl").write_text("".join(every[:200]))
    assert main([*KEPT, "--at-end", "keep"]) == Exit.OK
    before = len(released())
    (directory / "groups.csv").write_text(
        "meter_id,group_id\n" + MEMBERS + "home-8,feeder-0\nhome-0,feeder-1\nhome-0,other\n"
    )
    (directory / "in.jsonl").write_text("".join(every))
    capfd.readouterr()
    assert main(KEPT) == Exit.OK
    told = capfd.readouterr().err
    assert "1 memberships begin later than they are to, and 2 never do" in told
    homes = [one["homes"] for one in released() if one["group_id"] == "feeder-0"]
    assert homes[: before // 2 + 1] == [4] * (before // 2 + 1)
    assert homes[-1] == 5


def test_the_account_is_that_of_the_group(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(KEPT) == Exit.OK
    capfd.readouterr()
    for more in ([], ["-c", "agent.toml"]):
        assert main(["ledger", "show", "feeder-1", "--ledger", "spend.db", *more]) == Exit.OK
        assert capfd.readouterr().out.startswith("feeder-1: policy ")


SHARED = CONFIGURATION.replace('budget = "48"', 'share = "48"').replace(
    "[[group]]",
    '[budget]\namount = "60"\ngroups = "48"\nradius = "1kW"\n[[policy]]\nname = "homes"\n'
    'window = "30m"\ninterval = "5m"\nmaximum = "24kW"\nepsilon = "1"\nradius = "1kW"\n'
    'share = "12"\n[[group]]',
)


def test_groups_and_meters_share_a_ledger_and_nothing_in_it(
    directory: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (directory / "agent.toml").write_text(SHARED)
    assert main(KEPT) == Exit.OK
    groups = Path("out.jsonl").read_bytes()
    meters = [
        "sanitize",
        "in.jsonl",
        "-c",
        "agent.toml",
        "-o",
        "homes.jsonl",
        "--ledger",
        "spend.db",
    ]
    assert main(meters) == Exit.OK
    assert {one["meter_id"] for one in released("homes.jsonl")} >= {"home-0", "home-8"}
    assert Path("out.jsonl").read_bytes() == groups
    kept = look(Path("spend.db"))
    assert len(kept.accounts) == 9
    assert {*kept.groups} == {"feeder-0", "feeder-1"}
    capfd.readouterr()
    told = lost_in_all("home-1", capfd)
    own = [o for o in released("homes.jsonl") if o["meter_id"] == "home-1"]
    its = [o for o in released() if o["group_id"] == "feeder-1"]
    assert told["itself, policy homes"] == paid(own)
    assert told["in group feeder-1, policy feeder"] == paid(its)
    assert told["in all"] == paid(own) + paid(its)
    assert told["at most"] == 60
    alone = lost_in_all("home-8", capfd)
    assert {*alone} == {"itself, policy homes", "in all", "at most"}
    assert main(["ledger", "totals", "--csv", *BOOKS]) == Exit.OK
    kinds = [line.split(",")[:2] for line in capfd.readouterr().out.splitlines()[1:]]
    assert kinds == [["homes", "9"], ["feeder", "2"]]
    assert main(["ledger", "top", "--csv", "--count", "99", *BOOKS]) == Exit.OK
    assert len(capfd.readouterr().out.splitlines()) == 1 + 9 + 2


BOOKS = ("--ledger", "spend.db", "-c", "agent.toml")


def paid(releases: list[dict[str, Any]]) -> Decimal:
    """Epsilon at 1 kW of all of these, which are of one horizon."""
    return 1000 * sum((Decimal(e) for one in releases for e in one["epsilon"].values()), Decimal(0))


def lost_in_all(home: str, capfd: pytest.CaptureFixture[str]) -> dict[str, Decimal]:
    """What `ledger show` says of it in all: by whom -> epsilon."""
    assert main(["ledger", "show", home, *BOOKS]) == Exit.OK
    said = capfd.readouterr().out
    title = f"{home}: in all, by itself and by its groups, in the 24 h until "
    _, begun, told = said.partition(title)
    assert begun
    rows = [re.split("  +", line) for line in told.splitlines()[3:]]
    assert all(1000 * Decimal(per_watt) == Decimal(epsilon) for _, epsilon, per_watt in rows)
    return {name: Decimal(epsilon) for name, epsilon, _ in rows}


def test_a_home_without_an_account_is_told_what_its_groups_spent(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert main(KEPT) == Exit.OK
    its = [one for one in released() if one["group_id"] == "feeder-1"]
    capfd.readouterr()
    told = lost_in_all("home-1", capfd)
    assert told == {
        "in group feeder-1, policy feeder": paid(its),
        "in all": paid(its),
        "at most": Decimal(48),
    }
    assert main(["ledger", "show", "home-8", *BOOKS]) == Exit.CONFIGURATION
    assert "METER: has no account here" in capfd.readouterr().err


def test_what_may_be_lost_of_a_home_is_explained(
    directory: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    asked = ["explain", "-c", "agent.toml", "--json", "--meter"]
    (directory / "agent.toml").write_text(SHARED)
    explained = []
    for more in ([], ["home-1"], ["home-1", "--groups", "groups.csv"], ["home-8"]):
        groups = ["--groups", "groups.csv"] if more == ["home-8"] else []
        assert main([*(asked if more else asked[:-1]), *more, *groups]) == Exit.OK
        document = json.loads(capfd.readouterr().out)
        jsonschema.validate(document, explanation_schema())
        explained.append(document)
    every, unsaid, member, nobody = explained
    assert "home" not in every
    names = [[one["name"] for one in document["policies"]] for document in explained]
    assert names == [["homes", "feeder"], ["homes", "feeder"], ["homes", "feeder"], ["homes"]]
    homes = [document["home"] for document in (unsaid, member, nobody)]
    assert [home["together"]["log_odds"] for home in homes] == [60, 60, 60]
    assert [home["groups"] for home in homes] == [
        None,
        [{"group_id": "feeder-1", "since": None, "until": None}],
        [],
    ]
    assert main([*asked[:3], "--meter", "home-1", "--groups", "groups.csv"]) == Exit.OK
    said = capfd.readouterr().out
    assert said.startswith("home-1: all that is released of it\n")
    assert "\nIt is in feeder-1: odds change " in said
    assert main([*asked[:3], "--meter", "home-8", "--groups", "groups.csv", "--dpia"]) == Exit.OK
    assert "feeder" not in capfd.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["sanitize", "in.jsonl", "-c", "agent.toml"], "--groups: is missing; name the file"),
        ([*ARGUMENTS, "--by-meter"], "--by-meter: closes windows as each meter is heard"),
        (["explain", "-c", "agent.toml", "--groups", "groups.csv"], "--groups: is given, and no"),
        (
            ["explain", "--preset", "presence", "--meter", "m", "--groups", "groups.csv"],
            "--groups: is given, and no [[group]]; write one",
        ),
        (
            ["sanitize", "in.jsonl", "--preset", "presence", "--groups", "groups.csv"],
            "--groups: is given, and no [[group]]; write one",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(
    arguments: list[str], told: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == Exit.CONFIGURATION
    assert f"meteragent: {told}" in capfd.readouterr().err


def test_groups_that_no_policy_is_for_are_counted(
    directory: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    narrow = CONFIGURATION.replace('name = "feeder"', 'name = "feeder"\nmatch = "feeder-0"')
    (directory / "agent.toml").write_text(narrow)
    assert main(KEPT) == Exit.OK
    assert "1 groups have no [[group]]: nothing is released of them" in capfd.readouterr().err
    assert {one["group_id"] for one in released()} == {"feeder-0"}


def test_a_table_that_is_for_groups_of_nobody_is_named(
    directory: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    other = CONFIGURATION.partition("[[group]]")[2].replace('"feeder"', '"street"\nmatch = "s-"')
    (directory / "agent.toml").write_text(f"{CONFIGURATION}[[group]]{other}")
    assert main(KEPT) == Exit.OK
    told = capfd.readouterr().err
    assert "[[group]] street: no home is in a group that it is for" in told
    assert "[[group]] feeder" not in told
    assert {one["group_id"] for one in released()} == {"feeder-0", "feeder-1"}


def test_a_group_that_nobody_is_in_by_then_has_no_window(directory: Path) -> None:
    """Nor a release of 0 homes, from which it would follow when somebody was in it."""
    table = "meter_id,group_id,from,until\n" + MEMBERS.replace("\n", ",,\n")
    table += f"home-8,ghost,,{BEGIN - 60 * MINUTE}\n"
    (directory / "groups.csv").write_text(table)
    assert main(KEPT) == Exit.OK
    assert {one["group_id"] for one in released()} == {"feeder-0", "feeder-1"}


def test_a_group_that_is_renamed_is_another_one_and_waits_for_what_its_homes_reserve(
    directory: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its homes spend no second reserve: of them nothing is released for one horizon."""
    (directory / "agent.toml").write_text(CONFIGURATION + 'horizon = "4h"\n')
    every = lines(900)
    (directory / "in.jsonl").write_text("".join(every[: len(every) // 4]))
    assert main([*KEPT, "--at-end", "keep"]) == Exit.OK
    renamed = MEMBERS.replace("feeder-0", "street")
    (directory / "groups.csv").write_text("meter_id,group_id\n" + renamed)
    (directory / "in.jsonl").write_text("".join(every))
    capfd.readouterr()
    assert main(KEPT) == Exit.OK
    assert "4 memberships begin later than they are to, and 0 never do" in capfd.readouterr().err
    windows: dict[str, list[int]] = {}
    for one in released():
        assert one["homes"] == 4
        windows.setdefault(one["group_id"], []).append(one["window_start"])
    assert windows["street"][0] - windows["feeder-0"][-1] >= 240 * MINUTE
    assert len(windows["street"]) > 3
    assert len(windows["feeder-1"]) == 30


def test_a_ledger_from_before_groups_is_gone_on_with(directory: Path) -> None:
    database = sqlite3.connect(directory / "old.db")
    database.executescript(
        ledger_tables.TABLES.replace(ledger_tables.GROUPS, "")
        + f"PRAGMA application_id = {0x6D747241}; PRAGMA user_version = 2;"
    )
    database.close()
    assert look(directory / "old.db").groups == {}
    ledger = SqliteLedger(str(directory / "old.db"))
    assert (ledger.groups(), ledger.homes(), ledger.members(), ledger.frontier()) == (
        {},
        {},
        [],
        ALWAYS,
    )
    ledger.close()


# Who is in which group.


def test_members_are_read_with_the_times_of_their_membership(directory: Path) -> None:
    path = directory / "m.csv"
    path.write_text(
        "group_id,substation,meter_id,from,until\nf,x,A ,,\nf,x,b,1000,2026-01-01T00:00:00+01:00\n"
        "f,x,b,2027-01-01T00:00:00Z,\n"
    )
    new_year = 1_767_222_000_000
    assert members.read(path, normalise_ids=True) == [
        Membership("a", "f", ALWAYS, FOR_EVER),
        Membership("b", "f", 1000, new_year),
        Membership("b", "f", 1_798_761_600_000, FOR_EVER),
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"meter_id,group\na,b\n", "has no column group_id; write a header"),
        (b"", "has no column meter_id; write a header"),
        (b"meter_id,group_id\n", "names no home; write a line"),
        (b"meter_id,group_id\na,b\na,b\n", "line 3: says again what line 2 says"),
        (b"meter_id,group_id\na\n", "line 2: has no group_id of 1 to 128"),
        (b"meter_id,group_id\n,b\n", "line 2: has no meter_id of 1 to 128"),
        (b"meter_id,group_id,from\na,b,soon\n", "line 2: has no time in the column from"),
        (
            b"meter_id,group_id,from\na,b,2026-02-30T00:00:00Z\n",
            "line 2: has no time in the column from",
        ),
        (b"meter_id,group_id,from,until\na,b,5,5\n", "line 2: ends before it begins"),
        (b"meter_id,group_id\n\xe9,b\n", "is not UTF-8 text"),
        (b'meter_id,group_id\n"a"b,c\n', "is not a CSV table"),
    ],
)
def test_a_file_of_members_that_makes_no_sense_is_refused(
    directory: Path, text: bytes, told: str
) -> None:
    path = directory / "m.csv"
    path.write_bytes(text)
    with pytest.raises(FileRefused) as error:
        members.read(path)
    assert told in str(error.value)


def test_a_file_of_members_that_is_not_there_is_named(directory: Path) -> None:
    with pytest.raises(FileRefused, match="cannot be read"):
        members.read(directory / "none.csv")
