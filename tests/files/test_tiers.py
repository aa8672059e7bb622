"""Noisier copies of releases in files of their own: `sanitize --tier`."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from meteragent.cli import main
from meteragent.commands.exit_codes import Exit
from meteragent.files.ledger import look
from meteragent.formats.schema import policy_schema, release_schema
from meteragent.privacy.published import policy_of
from tests.files import test_groups as groups
from tests.files.given import CONFIGURATION, in_small_blocks, lively, write_key

TIERS = """[[policy.tier]]
name = "research"
epsilon = "0.5"
[[policy.tier]]
name = "public"
epsilon = "0.1"
"""
PLAIN = ["sanitize", "in.jsonl", "-c", "agent.toml", "-o", "out.jsonl", "--ledger", "spend.db"]
TOLD = [*PLAIN, "--tier", "research=research.jsonl", "--tier", "public=public.jsonl"]
FILES = ("out.jsonl", "research.jsonl", "public.jsonl")


def configured() -> str:
    """Both policies have a tier called research, and one of them another."""
    homes, plugs = CONFIGURATION.split('[[policy]]\nname = "plugs"')
    research = TIERS[: TIERS.rindex("[[policy.tier]]")]
    return f'{homes}{TIERS}[[policy]]\nname = "plugs"{plugs}{research}'


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.toml").write_text(configured())
    (tmp_path / "in.jsonl").write_bytes(lively(1500))
    write_key(tmp_path)
    return tmp_path


def read(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def whose(one: dict[str, Any]) -> tuple[str, int, str]:
    return one["meter_id"], one["window_start"], one["status"]


def test_each_audience_is_told_the_same_windows_in_its_own_file(directory: Path) -> None:
    assert main(TOLD) == Exit.OK
    first, research, public = map(read, FILES)
    assert len({one["policy"] for one in first}) == 2
    assert [*map(whose, research)] == [*map(whose, first)]
    homes = [one for one in first if one["meter_id"].startswith("home-")]
    assert [*map(whose, public)] == [*map(whose, homes)] != [*map(whose, first)]
    assert all("tier" not in one for one in first)
    assert {one["tier"] for one in research} == {"research"}
    assert {one["tier"] for one in public} == {"public"}
    told = [one for one in zip(first, research, strict=True) if one[0]["status"] == "released"]
    assert told
    assert all(one["values"] != other["values"] for one, other in told[:1])
    assert {tuple(one["epsilon"].values()) for one in public if one["epsilon"]} == {
        ("0.001", "0.001")
    }
    schema = Draft202012Validator(release_schema())
    for one in (*first, *research, *public):
        schema.validate(one)
    del directory


def test_the_first_release_is_what_it_is_without_tiers(directory: Path) -> None:
    assert main(TOLD) == Exit.OK
    told = Path("out.jsonl").read_bytes()
    (directory / "agent.toml").write_text(CONFIGURATION)
    again = [*PLAIN[:4], "-o", "alone.jsonl", "--ledger", "other.db"]
    assert main(again) == Exit.OK
    assert Path("alone.jsonl").read_bytes() == told
    records = look(Path("spend.db")).accounts
    assert records == look(Path("other.db")).accounts  # nobody has paid for a copy


def test_policies_of_tiers_are_in_the_ledger_by_what_releases_name() -> None:
    assert main(TOLD) == Exit.OK
    kept, schema = look(Path("spend.db")).policies, Draft202012Validator(policy_schema())
    named = {one["policy"] for file in FILES for one in read(file)}
    assert named == {*kept}
    for text in kept.values():
        document = json.loads(text)
        schema.validate(document)
        assert policy_of(document).document() == document


def test_a_run_that_is_cut_short_goes_on_to_the_same_bytes(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(TOLD) == Exit.OK
    whole = [Path(file).read_bytes() for file in FILES]
    for name in (*FILES, "spend.db"):
        (directory / name).unlink()
    lines = (directory / "in.jsonl").read_text().splitlines(keepends=True)
    in_small_blocks(monkeypatch.setattr, 100)
    for part in (len(lines) // 3, 2 * len(lines) // 3, len(lines)):
        (directory / "in.jsonl").write_text("".join(lines[:part]))
        assert main([*TOLD, "--at-end", "keep" if part < len(lines) else "close"]) == Exit.OK
        with Path("research.jsonl").open("ab") as torn:
            torn.write(b'{"what was never paid for')
    assert main(TOLD) in {Exit.OK, Exit.NOTHING}
    assert [Path(file).read_bytes() for file in FILES] == whole


def test_tables_say_the_tier(directory: Path) -> None:
    assert main([*TOLD, "--format", "csv"]) == Exit.OK
    with Path("out.jsonl").open() as first, Path("research.jsonl").open() as research:
        assert "tier" not in next(csv.reader(first))
        assert {row["tier"] for row in csv.DictReader(research)} == {"research"}
    del directory


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (PLAIN, 'is missing for the tier "research"; write --tier research=FILE'),
        (TOLD[:-2], 'is missing for the tier "public"'),
        ([*TOLD, "--tier", "nobody=x.jsonl"], "names a tier that does not exist; known are: "),
        ([*TOLD, "--tier", "research=x.jsonl"], "names a tier or a file twice"),
        ([*TOLD[:-1], "public=out.jsonl"], "names a tier or a file twice"),
        ([*TOLD[:-1], "public"], "is not NAME=FILE; write --tier research=research.jsonl"),
        ([*TOLD[:-1], "public=in.jsonl"], "is the input itself"),
    ],
)
def test_every_tier_has_a_file_and_every_file_a_tier(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) != Exit.OK
    assert says in capsys.readouterr().err
    assert not Path("spend.db").exists() or not look(Path("spend.db")).accounts


def test_a_tier_of_nothing_that_is_released_is_refused(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (directory / "agent.toml").write_text(CONFIGURATION)
    assert main([*PLAIN, "--tier", "research=x.jsonl"]) != Exit.OK
    assert (
        "names a tier that does not exist; leave it out: there are none" in capsys.readouterr().err
    )


def test_a_ledger_with_tiers_says_what_was_spent_without_a_configuration(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    only = CONFIGURATION[: CONFIGURATION.rindex("[[policy]]")] + TIERS
    (directory / "agent.toml").write_text(only)
    assert main(TOLD) == Exit.OK
    assert main(["ledger", "top", "--ledger", "spend.db"]) == Exit.OK
    assert "home-" in capsys.readouterr().out


def test_groups_have_tiers_in_every_format(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = groups.CONFIGURATION.replace('queries = ["avg", "max"]', 'queries = ["avg"]')
    research = TIERS[: TIERS.rindex("[[policy.tier]]")].replace("policy", "group")
    (directory / "agent.toml").write_text(table + research)
    (directory / "groups.csv").write_text("meter_id,group_id\n" + groups.MEMBERS)
    (directory / "in.jsonl").write_text("".join(groups.lines(240)))
    told = [*groups.KEPT, "--tier", "research=research.jsonl"]
    assert main(told) == Exit.OK
    first, copy = read("out.jsonl"), read("research.jsonl")
    assert [(one["group_id"], one["homes"]) for one in copy] == [
        (one["group_id"], one["homes"]) for one in first
    ]
    assert all(one["epsilon"] == {"avg": "0.0005"} for one in copy)
    schema = Draft202012Validator(release_schema())
    for one in copy:
        schema.validate(one)
    for name in ("out.jsonl", "research.jsonl", "spend.db"):
        (directory / name).unlink()
    assert main([*told, "--format", "lv-feeder"]) == Exit.OK
    with Path("out.jsonl").open() as told_first, Path("research.jsonl").open() as copied:
        rows, others = [*csv.reader(told_first)], [*csv.reader(copied)]
    assert [row[:5] + row[6:] for row in rows] == [row[:5] + row[6:] for row in others]
    assert rows != others
    capsys.readouterr()
