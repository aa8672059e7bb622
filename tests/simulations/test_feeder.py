"""One draw for a group is nearer than the sum of single homes' releases, as far as is claimed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from simulations.feeder import pictures
from simulations.feeder.releases import of_groups, of_homes
from simulations.feeder.served import USES, served
from simulations.feeder.study import PROMISES, group_policy, ratios, study
from simulations.home.policies import plain
from simulations.home.street import DAYS, QUARTER
from simulations.kit.command import RESULTS, SEED, Run
from simulations.kit.traces import Trace
from simulations.uses.settings import Setting
from simulations.uses.street import Street
from tests.given import KEY

if TYPE_CHECKING:
    from pathlib import Path

BEGIN = 1_767_225_600_000


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
    uses = served(run)
    pictures.uses(run, uses)
    assert (tmp_path / "feeder-uses.png").exists()
    assert [*uses] == [promise.words for promise in PROMISES]
    assert {len(tasks) for tasks in uses.values()} == {5}


def results() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESULTS / "feeder.json").read_text("utf-8"))["results"]
    return found


def test_ordinary_differential_privacy_costs_as_much_more_as_a_home_can_draw_more() -> None:
    """A day's noise of it is beyond the load of any street; the ends of the range cut it off."""
    [kilowatt, _] = results()["promises"].values()
    for size in ("200", "1000"):
        hours = kilowatt[size]["quarter_hour"]
        times = hours["standard"]["mean_off"] / hours["group"]["mean_off"]
        assert times == pytest.approx(24, rel=0.2)


def test_one_draw_serves_where_the_sum_of_releases_does_not() -> None:
    """In every use it is between what homes' releases come to and what no noise would."""
    for tasks in results()["uses"].values():
        for name, its in tasks.items():
            off = {way: its[way]["mean"] for way in ("homes", "group", "exact")}
            if name.startswith("cars"):  # a month of noise is small beside what shapes cannot tell
                assert its["group"]["low"] < its["exact"]["high"]
            elif name.startswith("theft"):
                assert off["homes"] < off["group"] <= off["exact"]
            else:
                assert off["homes"] > off["group"] >= off["exact"] - 0.1


def test_panels_are_told_from_the_shape_of_a_day() -> None:
    """Without noise; and a feeder without any makes nothing."""
    draw = np.random.default_rng(1)
    noon = np.tile(np.repeat([0.0, 1.0, 0.0], 32), DAYS)
    load, sun = draw.uniform(300, 500, (40, 96 * DAYS)), 800 * noon * np.ones((40, 1))
    homes = Street(load, np.zeros(40), load - sun, sun)
    [panels] = [task for task in USES if task.name.startswith("panels")]
    exact = Setting("", plain(QUARTER, "1"), feeder=True)
    found = panels.measure(homes, exact, draw)
    assert found
    assert found.mean == pytest.approx(0, abs=5)
    drowned = Setting("", plain(QUARTER, "0.00001"), feeder=True)
    found = panels.measure(homes, drowned, draw)
    assert found
    assert found.low > 20


@pytest.mark.parametrize(("size", "least"), [("200", 10), ("1000", 25)])
def test_for_many_homes_one_draw_is_nearer_by_as_much_as_is_said(size: str, least: float) -> None:
    found = results()["promises"]
    assert len(found) == 2
    for sizes in found.values():
        assert sizes[size]["times_less"] >= least
