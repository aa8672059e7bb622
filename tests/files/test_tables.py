"""Releases as Parquet: what the lines say, with types; pseudonyms in whatever is written."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from meteragent.cli import main
from meteragent.commands.exit_codes import Exit
from meteragent.files import parquet
from meteragent.files.sink import File

MIDNIGHT, QUARTER = 1_709_251_200_000, 900_000
POLICY = """
[[policy]]
name = "{name}"
window = "1h"
interval = "15m"
step = "1W"
maximum = "24kW"
epsilon = "{epsilon}"
budget = "1000000"
queries = ["avg", "p50(30m)"]
match = "{match}"
pseudonyms = {pseudonyms}
"""
KEY = '[agent]\nkey_file = "noise.key"\n'
Said = pytest.CaptureFixture[str]


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    assert main(["key", "create", "noise.key"]) == Exit.OK
    configure("false")
    written(0, 24)
    return tmp_path


def configure(pseudonyms: str, name: str = "homes", epsilon: str = "3000", match: str = "") -> None:
    policy = POLICY.format(name=name, epsilon=epsilon, match=match, pseudonyms=pseudonyms)
    Path("agent.toml").write_text(KEY + policy)


def written(first: int, last: int) -> None:
    lines = [
        json.dumps({"meter_id": meter, "ts": MIDNIGHT + n * QUARTER, "value": 100 * n})
        for n in range(last)
        for meter in ("home-1", "home-2")
        if n >= first and not (meter == "home-2" and 4 <= n < 7)
    ]
    Path("in.jsonl").write_text("".join(f"{line}\n" for line in lines))


def sanitized(out: str, *more: str) -> int:
    return main(["sanitize", "in.jsonl", "-c", "agent.toml", "-o", out, *more])


@pytest.mark.usefixtures("directory")
def test_a_table_says_what_the_lines_say() -> None:
    assert sanitized("out.parquet", "--format", "parquet") == Exit.OK
    assert sanitized("out.jsonl") == Exit.OK
    assert Path("out.parquet.jsonl").read_bytes() == Path("out.jsonl").read_bytes()
    documents = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    rows = pq.read_table("out.parquet").to_pylist()
    assert len(rows) == len(documents) == 12
    for row, said in zip(rows, documents, strict=True):
        assert int(row["window_start"].timestamp() * 1000) == said["window_start"]
        for name in ("meter_id", "status", "unit", "policy"):
            assert row[name] == said[name]
        for name in ("withheld", "readings", "slots"):
            assert row[name] == said.get(name)
        for query in ("avg", "p50(30m)"):
            assert row[query] == said["values"].get(query)
            assert row[f"{query}_unbiased"] == said["unbiased"].get(query)
            assert row[f"{query}_epsilon"] == said["epsilon"].get(query)
    assert [row["status"] for row in rows].count("suppressed") == 1


@pytest.mark.usefixtures("directory")
def test_a_table_grows_with_its_lines() -> None:
    whole = Path("in.jsonl").read_bytes()
    written(0, 12)
    arguments = ("--format", "parquet", "--ledger", "spend.db", "--at-end", "keep")
    assert sanitized("out.parquet", *arguments) == Exit.OK
    before = pq.read_table("out.parquet").num_rows
    Path("in.jsonl").write_bytes(whole)
    assert sanitized("out.parquet", *arguments) == Exit.OK
    assert before < pq.read_table("out.parquet").num_rows


@pytest.mark.usefixtures("directory")
def test_a_run_that_is_killed_before_the_table_is_there_loses_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arguments = ("--format", "parquet", "--ledger", "spend.db")
    with monkeypatch.context() as patch:
        patch.setattr("meteragent.files.parquet.pq.ParquetWriter", None)
        assert sanitized("out.parquet", *arguments) == Exit.BUG
    assert not Path("out.parquet").exists()
    assert sanitized("out.parquet", *arguments) == Exit.OK
    assert pq.read_table("out.parquet").num_rows == 12


@pytest.mark.usefixtures("directory")
def test_what_cannot_be_a_table_is_refused_by_name(capsys: Said) -> None:
    table = ("--format", "parquet")
    assert main(["sanitize", "in.jsonl", "-c", "agent.toml", *table]) == Exit.CONFIGURATION
    assert "--format: is a table, which no pipe takes; name it with -o" in capsys.readouterr().err
    assert sanitized("out.parquet", *table, "--follow") == Exit.CONFIGURATION
    assert "--format: is a table, which is written when all of IN is" in capsys.readouterr().err


@pytest.mark.usefixtures("directory")
def test_without_pyarrow_it_is_said_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: Said
) -> None:
    def missing(name: str) -> object:
        raise ImportError(name)

    monkeypatch.setattr("meteragent.commands.sanitize.import_module", missing)
    assert sanitized("out.parquet", "--format", "parquet") == Exit.CONFIGURATION
    assert "pip install 'meteragent[parquet]'" in capsys.readouterr().err


@pytest.mark.parametrize("output", ["json", "csv", "parquet"])
@pytest.mark.usefixtures("directory")
def test_two_audiences_cannot_join_what_they_get_by_its_meters(output: str) -> None:
    """Ids are in none of the outputs; the ledger keeps them; one audience sees one meter as one."""
    called = []
    for nth, (name, epsilon) in enumerate(
        [("research", "3000"), ("city", "3000"), ("research", "2999"), ("research", "3000")]
    ):
        configure("true", name, epsilon)
        out = f"{nth}.out"
        assert sanitized(out, "--format", output, "--ledger", f"{nth}.db") == Exit.OK
        assert b"home-" not in Path(out).read_bytes()
        assert b"home-1" in Path(f"{nth}.db").read_bytes()
        called.append(meters(out, output))
    research, city, other, again = called
    assert len(research) == len(city) == len(other) == 2
    assert not research & city
    assert not research & other
    assert not city & other
    assert research == again


def meters(out: str, output: str) -> set[str]:
    if output == "parquet":
        return {*pq.read_table(out)["meter_id"].to_pylist()}
    lines = Path(out).read_text().splitlines()
    if output == "csv":
        return {line.split(",")[0] for line in lines[1:]}
    return {json.loads(line)["meter_id"] for line in lines}


@pytest.mark.usefixtures("directory")
def test_pseudonyms_change_neither_noise_nor_accounts() -> None:
    found = []
    for nth, pseudonyms in enumerate(("false", "true")):
        configure(pseudonyms, epsilon="1")
        assert sanitized(f"{nth}.out", "--ledger", f"{nth}.db") == Exit.OK
        documents = [json.loads(line) for line in Path(f"{nth}.out").read_text().splitlines()]
        found.append(
            sorted(json.dumps({**one, "meter_id": ""}, sort_keys=True) for one in documents)
        )
    assert found[0] == found[1]


def test_the_lines_of_a_table_are_a_file_of_their_own(tmp_path: Path) -> None:
    lines = File(parquet.lines_beside(tmp_path / "out.parquet"), None)
    assert lines.name.endswith("out.parquet.jsonl")
    lines.close()
