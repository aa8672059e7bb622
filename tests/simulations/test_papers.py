"""What the papers print is what comes out; a slip in a number or in a programme shows."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from qif import measure

from simulations.kit.command import SEED, Run
from simulations.papers import __main__ as papers
from simulations.papers import bounds, dates, table
from simulations.papers.capacities import (
    PrivacyType,
    capacities,
    cube,
    discrete,
    grid,
    line,
    of_channel,
)

if TYPE_CHECKING:
    from pathlib import Path

    from simulations.papers.capacities import Floats

LN2 = math.log(2)
TYPES = [line(2), line(5), discrete(4), grid(2, 3), cube(3)]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("papers")
    done = Run("papers", SEED, folder, quick=True, traces=None, command="")
    papers.simulate(done)
    return done


def test_every_number_agrees_and_one_that_is_off_would_not(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run.results["all_agree"]
    assert len(run.results["table"]) > len(table.PRINTED) * 2
    monkeypatch.setitem(table.PRINTED, "line of 4", (2.0, 0.68))
    assert [row.quantity for row in table.rows(quick=True) if not row.agrees] == [
        "additive capacity, line of 4"
    ]
    assert len(run.figures) == 2
    assert all((run.out / figure["file"]).stat().st_size < 150_000 for figure in run.figures)


def test_the_same_seed_writes_the_same_bytes(run: Run, tmp_path: Path) -> None:
    again = replace(run, out=tmp_path, results={}, figures=[])
    papers.simulate(again)
    assert again.results == run.results
    for figure in run.figures:
        assert (tmp_path / figure["file"]).read_bytes() == (run.out / figure["file"]).read_bytes()


def test_a_signature_with_less_noise_is_recognised_more_often(run: Run) -> None:
    half, tenth, *_, least = run.results["signature"]["measured"]
    assert (half["epsilon_per_watt"], tenth["epsilon_per_watt"]) == ("0.5", "0.1")
    for attack in ("by_correlation", "by_likelihood"):
        assert half[attack]["low"] > 0.8
        assert half[attack]["share"] > tenth[attack]["share"] > least[attack]["share"]


@pytest.mark.parametrize("of", TYPES, ids=lambda of: of.name)
@pytest.mark.parametrize("epsilon", [0.2, LN2, 2.0])
def test_no_drawn_mechanism_of_the_type_exceeds_its_capacities(
    of: PrivacyType, epsilon: float
) -> None:
    most = capacities(of, epsilon)
    random = np.random.default_rng(1)
    for _ in range(50):
        channel = drawn(of, epsilon, random)
        assert measure.d_privacy.is_private(channel, lambda x, y: epsilon * of.distances[x, y])
        found = of_channel(channel)
        assert found.multiplicative == pytest.approx(measure.bayes_vuln.mult_capacity(channel))
        assert found.multiplicative <= most.multiplicative + 1e-9
        assert found.additive <= most.additive + 1e-9


def drawn(of: PrivacyType, epsilon: float, random: np.random.Generator) -> Floats:
    """A private mechanism: columns that decay from a centre, some of them negated, then a rest."""
    columns = []
    for _ in range(2 * of.size):
        centre = random.integers(of.size)
        decay = np.exp(-epsilon * of.distances[centre])
        columns.append(random.random() * (decay if random.random() < 0.5 else 1 / decay))
    made = np.array(columns).T
    made /= 2 * made.sum(axis=1).max()
    private = np.column_stack([made, np.full(of.size, 0.5)])
    rest = 1 - private.sum(axis=1)
    return np.column_stack([private[:, :-1], private[:, -1] + rest])


def test_only_neighbours_bind() -> None:
    assert len(line(6).neighbours()) == 2 * 5
    assert len(discrete(5).neighbours()) == 5 * 4
    assert len(cube(4).neighbours()) == 16 * 4


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 3.0])
def test_bounds_hold_and_the_chances_are_reached(epsilon: float) -> None:
    error, missed = bounds.by_diameter(epsilon, diameter=6)
    assert error.possible == pytest.approx(2 * error.printed)
    assert missed.possible == pytest.approx(missed.printed)
    for others in (1, 3):
        wrong = bounds.by_number(epsilon, others)
        assert wrong.possible == pytest.approx(wrong.printed)


def test_a_bound_above_what_is_possible_is_noticed() -> None:
    assert not bounds.Bound("", 1.0, printed=0.5, possible=0.49).holds


def test_the_mean_error_of_dates_is_the_scale_of_the_noise() -> None:
    any_date, days = dates.settings(1.0)
    random = np.random.default_rng(1)
    assert dates.measured_error(any_date, random) == pytest.approx(any_date.scale, rel=0.03)
    assert dates.measured_error(days, random) == pytest.approx(days.scale, rel=0.03)
    assert any_date.within(np.array([any_date.scale]))[0] == pytest.approx(1 - math.exp(-1))
