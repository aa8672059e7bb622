"""One draw for a group is nearer than the sum of single homes' releases, as far as is claimed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from simulations.feeder import pictures
from simulations.feeder.releases import of_groups, of_homes
from simulations.feeder.study import QUARTER, group_policy, ratios, study
from simulations.home.policies import plain
from simulations.kit.command import RESULTS, SEED, Run
from simulations.kit.traces import Trace
from tests.given import KEY

BEGIN = 1_767_225_600_000
PAGE = Path(__file__).parents[2] / "deploy" / "guide" / "feeder.md"
TOLD = " ".join(PAGE.read_text("utf-8").split())


def test_a_group_says_the_sum_and_homes_what_each_of_them_drew() -> None:
    draw = np.random.default_rng(1)
    traces = [
        Trace(f"m-{n}", BEGIN, QUARTER, 10 * draw.integers(0, 300, size=5).astype(np.float64))
        for n in range(12)
    ]
    watts = np.array([trace.watts for trace in traces])
    single = of_homes(traces, plain(QUARTER, "5", interval=QUARTER), KEY)
    np.testing.assert_allclose(single, watts, atol=1e-9)
    groups = {"f-1": traces[:5], "f-2": traces[5:]}
    drawn = of_groups(traces, groups, group_policy(QUARTER, "avg", "5", 12), KEY)
    sums = [watts[:5].sum(axis=0), watts[5:].sum(axis=0)]
    np.testing.assert_allclose(drawn, sums, atol=1e-9)


def test_the_command_runs_and_draws_its_picture(tmp_path: Path) -> None:
    run = Run("feeder", SEED, tmp_path, quick=True, traces=None, command="")
    found = study(run)
    pictures.errors(run, found)
    assert (tmp_path / "feeder-errors.png").exists()
    assert all(times > 2 for sizes in ratios(found).values() for times in sizes.values())


@pytest.mark.parametrize(("size", "least"), [("200", 10), ("1000", 25)])
def test_for_many_homes_one_draw_is_nearer_by_as_much_as_is_said(size: str, least: float) -> None:
    found = json.loads((RESULTS / "feeder.json").read_text("utf-8"))["results"]["promises"]
    assert len(found) == 2
    for sizes in found.values():
        assert sizes[size]["times_less"] >= least


def test_the_guide_quotes_the_results() -> None:
    found = json.loads((RESULTS / "feeder.json").read_text("utf-8"))["results"]["promises"]
    quarter = [*found.values()][1]["1000"]["quarter_hour"]
    homes, group = (f"{100 * quarter[way]['mean_off']:.1f} %" for way in ("homes", "group"))
    assert (
        f"off by {group} of 1,000 homes, where the sum of their own releases is off by {homes}"
        in TOLD
    )
