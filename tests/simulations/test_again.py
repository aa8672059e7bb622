"""Every result can be made again by one command, and what differs is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simulations import again
from simulations.kit.command import RESULTS


def test_every_kept_result_with_pictures_names_its_command() -> None:
    names = {name for name, _ in again.commands(RESULTS)}
    assert {file.stem for file in RESULTS.glob("*.json")} == names
    assert all(f"--seed {_of(name)['seed']}" in str(_of(name)["command"]) for name in names)


def _of(name: str) -> dict[str, object]:
    document: dict[str, object] = json.loads((RESULTS / f"{name}.json").read_text("utf-8"))
    return document


def test_recordings_are_put_where_they_belong_or_left_out() -> None:
    folders = {"sets": Path("/s"), "homes": Path("/h")}
    asked = "python -m simulations.tv --seed 7 --traces DIR --hide x"
    said = ["simulations.tv", "--seed", "7", "--traces", "/s", "--hide", "x"]
    assert again.with_recordings("tv", asked, folders) == said
    noise = again.with_recordings("noise", asked.replace("tv", "noise"), folders)
    assert noise is not None
    assert noise[-3] == "/h"
    assert again.with_recordings("tv", asked, {}) is None
    assert again.with_recordings("a", "python -m simulations.a --seed 7", {}) == [
        "simulations.a",
        "--seed",
        "7",
    ]


def test_what_differs_is_named(tmp_path: Path) -> None:
    made, kept = tmp_path / "made", tmp_path / "kept"
    made.mkdir()
    kept.mkdir()
    for name, text in (("a.json", "1"), ("b.png", "2"), ("c.md", "3")):
        (made / name).write_text(text)
    (kept / "a.json").write_text("1")
    (kept / "b.png").write_text("0")
    assert again.differing(made, kept) == ["b.png", "c.md"]


def test_a_result_is_made_again_to_the_last_byte(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of the quickest one; a result that was changed by hand is found."""
    kept = tmp_path / "kept"
    kept.mkdir()
    for file in RESULTS.glob("practice*"):
        (kept / file.name).write_bytes(file.read_bytes())
    document = json.loads((kept / "practice.json").read_text("utf-8"))
    document["command"] += " --quick"
    document["quick"] = True
    (kept / "practice.json").write_text(json.dumps(document))
    out = tmp_path / "out"
    assert again.main(["--out", str(out), "--results", str(kept)]) == 1
    assert (
        "DIFFERS: practice-differencing.png, practice.json, practice.md" in capsys.readouterr().out
    )
    for file in (out / "practice").iterdir():
        (kept / file.name).write_bytes(file.read_bytes())
    twice = ["--out", str(tmp_path / "twice"), "--results", str(kept)]
    assert again.main([*twice, "--only", "practice", "--at-once", "1"]) == 0
    assert "the same" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="no result is kept of: practise"):
        again.main([*twice, "--only", "practise"])
