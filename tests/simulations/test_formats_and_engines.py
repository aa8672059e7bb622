"""Formats beside canonical JSON, and files beside other engines: do they run, and read all?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from simulations.peers import engines, files, formats

if TYPE_CHECKING:
    from pathlib import Path

READINGS = 2_000


def test_every_format_is_read_to_its_last_reading(capsys: pytest.CaptureFixture[str]) -> None:
    assert formats.main(["--quick", "--rounds", "1"]) == 0
    said = capsys.readouterr().out
    assert all(said.count(one.name) >= 1 for one in formats.FORMATS)


def test_a_format_that_says_fewer_readings_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "released", lambda *_: (0.1, 0.2, 5))
    with pytest.raises(ValueError, match="5 readings instead of"):
        formats.measure(1_000, 1, wheel=False)


@pytest.mark.parametrize("kind", files.kinds(quick=True)[1:], ids=lambda kind: kind.file)
@pytest.mark.parametrize("engine", engines.ENGINES)
def test_engines_read_the_same_file(engine: str, kind: files.Kind, tmp_path: Path) -> None:
    path = tmp_path / kind.file
    with path.open("w") as file:
        file.writelines(kind.lines(READINGS))
    assert min(engines.means(engine, path, READINGS)) > 0
    with pytest.raises(ValueError, match=f"{READINGS} readings instead of 5"):
        engines.means(engine, path, 5)


def test_an_engine_that_is_missing_is_named_with_the_way_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engines, "ENGINES", {"Other": "no_such_engine"})
    with pytest.raises(SystemExit, match=r"no_such_engine.*--group peers"):
        files.main(["--quick", "--engines"])
