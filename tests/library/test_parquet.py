"""Parquet of any size: the same releases, in bounded memory, shown once they are paid for."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import meteragent as ma
from meteragent.errors import FileRefused, InvalidSetting
from meteragent.files.ledger import SqliteLedger
from meteragent.library import rows
from tests import given as start
from tests.library.test_protect import DAY, EVERY_HALF_MINUTE, PLACES, protected
from tests.library.written import frame

if TYPE_CHECKING:
    from pathlib import Path

PLAN = ma.policy(**EVERY_HALF_MINUTE)


def through_a_file(told: pl.DataFrame, directory: Path, **more: Any) -> pl.DataFrame:
    told.write_parquet(directory / "in.parquet")
    out = directory / "out.parquet"
    how = {"key": start.KEY, "ledger": directory / "spend.db", **PLACES, **more}
    ma.protect_parquet(directory / "in.parquet", out, PLAN, **how)
    return pl.read_parquet(out)


def test_a_file_is_released_as_its_frame_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("meteragent.library.parquet.AT_ONCE", 50)
    monkeypatch.setattr(rows, "AT_ONCE", 50)
    expected = protected(DAY, PLAN, key=start.KEY)
    assert through_a_file(frame(DAY), tmp_path).equals(expected)
    assert [path.name for path in sorted(tmp_path.glob("out*"))] == ["out.parquet"]


def test_ids_that_are_too_many_to_be_kept_are_looked_up_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("meteragent.library.parquet.AT_ONCE", 50)
    monkeypatch.setattr(rows, "MOST_KNOWN", 1)
    assert through_a_file(frame(DAY), tmp_path).equals(protected(DAY, PLAN, key=start.KEY))


def test_a_file_of_one_home_needs_no_column_of_ids_and_one_that_lacks_is_named(
    tmp_path: Path,
) -> None:
    mine = [row for row in DAY if row.meter == "home-a"]
    frame(mine).drop("home").write_parquet(tmp_path / "in.parquet")
    files = tmp_path / "in.parquet", tmp_path / "out.parquet"
    how = {"key": start.KEY, "ledger": None, **PLACES}
    with pytest.raises(InvalidSetting, match=r"^meter: there is no column 'home'"):
        ma.protect_parquet(*files, PLAN, **how)
    ma.protect_parquet(*files, PLAN, **how, meter_id="home-a")
    assert pl.read_parquet(files[1]).equals(protected(mine, PLAN, key=start.KEY))


@pytest.mark.parametrize(
    "written", [pl.String, pl.Categorical, pl.Int64], ids=["text", "category", "number"]
)
def test_rows_without_an_id_are_no_readings_however_ids_are_written(
    tmp_path: Path, written: type[pl.DataType]
) -> None:
    mine = [row._replace(meter="17") for row in DAY if row.meter == "home-a"]
    told = pl.concat([frame(mine), frame(mine).with_columns(home=pl.lit(None, pl.String))])
    told = told.sort("at").with_columns(pl.col("home").cast(written))
    told.write_parquet(tmp_path / "in.parquet")
    how = {"key": start.KEY, "ledger": None, **PLACES}
    became = ma.protect_parquet(tmp_path / "in.parquet", tmp_path / "out.parquet", PLAN, **how)
    assert became.rejects == {"bad_meter": len(mine)}
    assert pl.read_parquet(tmp_path / "out.parquet").equals(protected(mine, PLAN, key=start.KEY))


def test_one_meter_after_the_other_needs_to_be_said(tmp_path: Path) -> None:
    told = frame(DAY).sort("home", "at")
    out = through_a_file(told, tmp_path, by_meter=True).drop("policy")
    expected = protected(DAY, PLAN, key=start.KEY).drop("policy")
    by = ["meter_id", "window_start"]
    assert out.sort(by).equals(expected.sort(by))
    (tmp_path / "out.parquet").unlink()
    tallied = ma.protect_parquet(
        tmp_path / "in.parquet",
        tmp_path / "out.parquet",
        PLAN,
        key=start.KEY,
        ledger=None,
        **PLACES,
    )
    assert tallied.late == 440


def test_presence_that_is_private_is_not_told_meter_by_meter(tmp_path: Path) -> None:
    private = ma.policy(presence="private", **EVERY_HALF_MINUTE)
    with pytest.raises(InvalidSetting, match=r"^by_meter: closes windows as each meter is heard"):
        ma.protect_parquet(
            "in", tmp_path / "out", private, key=start.KEY, ledger=None, by_meter=True
        )


def test_what_is_there_is_not_overwritten(tmp_path: Path) -> None:
    through_a_file(frame(DAY), tmp_path)
    with pytest.raises(FileRefused, match="already exists"):
        through_a_file(frame(DAY), tmp_path)
    (tmp_path / "out.parquet").rename(tmp_path / "out.parquet.part")  # killed between the two
    with pytest.raises(FileRefused, match="holds what an earlier run released and paid for"):
        through_a_file(frame(DAY), tmp_path)


def test_what_breaks_off_costs_nothing_and_shows_nothing(tmp_path: Path) -> None:
    told = frame(DAY)
    told.write_parquet(tmp_path / "in.parquet")
    whole = (tmp_path / "in.parquet").read_bytes()
    out, ledger = tmp_path / "out.parquet", tmp_path / "spend.db"
    how: dict[str, Any] = {"key": start.KEY, "ledger": ledger, **PLACES}
    for content in (b"", b"PAR1", whole[:-9]):
        (tmp_path / "cut.parquet").write_bytes(content)
        with pytest.raises(FileRefused, match="cannot be read as Parquet"):
            ma.protect_parquet(tmp_path / "cut.parquet", out, PLAN, **how)
    with pytest.raises(InvalidSetting, match=r"^value: there is no column 'power'"):
        ma.protect_parquet(tmp_path / "in.parquet", out, PLAN, **{**how, "value": "power"})
    assert not [*tmp_path.glob("out*")]
    database = SqliteLedger(str(ledger))
    assert database.accounts() == {}
    database.close()
    ma.protect_parquet(tmp_path / "in.parquet", out, PLAN, **how)
    assert pl.read_parquet(out).equals(protected(DAY, PLAN, key=start.KEY))


HUNGER = r"""
import re, sys
import meteragent as ma
plan = ma.policy(window="5m", interval="30s", maximum="24kW", epsilon="1", budget="1000")
ma.protect_parquet(sys.argv[1], sys.argv[2], plan, key=ma.NoiseKey(bytes(range(32))), ledger=None,
                   meter="home", time="at", value="watts")
print(re.search(r"VmHWM:\s+(\d+)", open("/proc/self/status").read())[1])
"""


def test_a_longer_file_takes_no_more_memory(tmp_path: Path) -> None:
    """Six times the rows: less than half of what the others would take in Python."""
    most = []
    for hours in (120, 720):
        moments = pl.datetime_range(
            pl.datetime(2025, 1, 1),
            pl.datetime(2025, 1, 1) + pl.duration(hours=hours),
            "30s",
            time_unit="ms",
            eager=True,
        )
        told = pl.DataFrame({"at": moments}).join(
            pl.DataFrame({"home": [f"home-{n}" for n in range(40)]}), how="cross"
        )
        told = told.with_columns(watts=pl.int_range(pl.len()) % 3000 * 1.0)
        told.write_parquet(tmp_path / f"{hours}.parquet", row_group_size=100_000)
        done = subprocess.run(  # noqa: S603 - our own program
            [
                sys.executable,
                "-c",
                HUNGER,
                tmp_path / f"{hours}.parquet",
                tmp_path / f"{hours}.out",
            ],
            check=True,
            capture_output=True,
            text=True,
        )
        most.append(int(done.stdout) * 1024)
    in_python = 8 + 8 + 60  # a time, a value and a string of each row
    assert most[1] - most[0] < 600 * 120 * 40 * in_python / 2
