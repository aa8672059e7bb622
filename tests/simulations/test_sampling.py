"""The comparison with other libraries runs, says what it measured, and judges it."""

from __future__ import annotations

import json
import math
import sys
from typing import TYPE_CHECKING

import pytest

from simulations.peers import sampling
from simulations.peers.sampling import Contender, Target, seconds_each

if TYPE_CHECKING:
    from pathlib import Path


def test_a_quick_run_prints_and_writes_every_ratio(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results.json"
    assert sampling.main(["--quick", "--json", str(results)]) == 0
    written, printed = json.loads(results.read_text()), capsys.readouterr().out
    assert {"opendp", "diffprivlib", "numpy", "cpu", "seed"} <= set(written["about"])
    assert len(written["seconds"]) == 9
    assert all(0 < seconds < 10 for seconds in written["seconds"].values())
    assert len(written["targets"]) == 3
    for named in (*written["seconds"], *(target["what"] for target in written["targets"])):
        assert named in printed


@pytest.mark.parametrize(("met", "code"), [(True, 0), (False, 1)])
def test_only_a_checked_run_fails_over_a_missed_target(
    monkeypatch: pytest.MonkeyPatch,
    met: bool,  # noqa: FBT001 - a parameter
    code: int,
) -> None:
    targets = [Target("speed", 26 if met else 24, least=25)]
    monkeypatch.setattr(sampling, "compare", lambda _sizes: ({}, targets))
    assert sampling.main(["--check"]) == code
    assert sampling.main([]) == 0


def test_targets_bound_from_below_or_from_above() -> None:
    assert Target("speed", 25, least=25).met
    assert not Target("speed", 24.9, least=25).met
    assert Target("passes", 3, most=3).met
    assert not Target("passes", 3.1, most=3).met
    assert "MISSED" in str(Target("passes", math.inf, most=3))


def test_contenders_take_turns_in_every_round() -> None:
    turns: list[str] = []
    pair = [Contender(name, 1, lambda name=name: turns.append(name)) for name in "ab"]  # type: ignore[misc]
    assert all(seconds >= 0 for seconds in seconds_each(pair, 3))
    assert turns == ["a", "b"] * 3


def test_a_library_that_is_missing_is_named_with_the_way_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "diffprivlib.mechanisms", None)
    with pytest.raises(SystemExit, match=r"diffprivlib.*--group peers"):
        sampling.main(["--quick"])
