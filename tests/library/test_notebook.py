"""The notebook does what it says: run cell by cell, as it stands, and with a file of one's own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from deploy.manual.gather import ROOT

if TYPE_CHECKING:
    from pathlib import Path

NOTEBOOK = ROOT / "deploy" / "guide" / "notebook.ipynb"
CELLS = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]


def code() -> list[str]:
    return ["".join(cell["source"]) for cell in CELLS if cell["cell_type"] == "code"]


@pytest.fixture(autouse=True)
def _on_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "Agg")


def executed(*said: tuple[str, str]) -> dict[str, Any]:
    """All that the cells define, with some of what they say replaced."""
    cells = code()
    for old, new in said:
        assert sum(old in cell for cell in cells) == 1, old
        cells = [cell.replace(old, new) for cell in cells]
    names: dict[str, Any] = {}
    for cell in cells:
        exec(compile(cell, str(NOTEBOOK), "exec"), names)  # noqa: S102 - our own page
    return names


def drawn(names: dict[str, Any]) -> None:
    for picture in ("home.png", "feeder.png"):
        assert len((names["folder"] / picture).read_bytes()) > 10_000


def test_it_runs_and_what_it_finds_is_so() -> None:
    """With fewer homes: the notebook's thirty take longer, and show no more."""
    names = executed(("range(30)", "range(8)"), ("days=14", "days=6"))
    drawn(names)
    assert len(names["released"]) == 8 * 6
    # Of 6 sums 95 % each are within: fewer than 3 of them in one case of 10^4.
    assert names["within"] >= 3 / 6
    films, homes = names["films"].attack, names["homes"].attack
    assert films.attempts == homes.attempts == 80
    assert films.between[0] > 1.5 * names["films"].chance
    assert homes.between[0] < 1.5 * names["homes"].chance
    assert np.isclose(names["truth"], names["sums"]["watts"], atol=8 * 6 * 25).all()


def test_a_recording_of_ones_own_is_read(tmp_path: Path) -> None:
    file = tmp_path / "channel_1.dat"
    seconds = np.arange(1_767_571_200, 1_767_571_200 + 3 * 86_400, 6)
    file.write_text("".join(f"{at} {200 + at % 7}\n" for at in seconds.tolist()))
    names = executed(("FILE = None", f"FILE = {str(file)!r}"))
    drawn(names)
    assert names["released"]["status"].tolist() == ["released"] * 3


def test_nothing_that_was_made_is_kept_in_it() -> None:
    for cell in CELLS:
        assert cell.get("outputs", []) == []
        assert cell.get("execution_count") is None
