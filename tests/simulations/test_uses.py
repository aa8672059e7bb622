"""What releases are good for: of the noise that the program draws, and as the page says it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from meteragent.config.presets import presets
from meteragent.privacy.entropy import NoiseKey
from simulations.home.policies import plain
from simulations.home.street import HOMES as HOMES_OF_ALL
from simulations.home.street import QUARTER
from simulations.kit.command import RESULTS, SEED, Run
from simulations.kit.product import release
from simulations.kit.traces import DAY, USUAL, Trace
from simulations.uses import __main__ as uses
from simulations.uses.page import page
from simulations.uses.settings import MONTH, Setting, settings
from simulations.uses.street import Street, deviation, noise, windows, within
from simulations.uses.tasks import TASKS, Number
from simulations.uses.told import SECRETS

if TYPE_CHECKING:
    from pathlib import Path

KEPT: dict[str, Any] = json.loads((RESULTS / "uses.json").read_text("utf-8"))
FOUND = KEPT["results"]
HOMES, DAYS = 24, 28
TOMORROW = "a feeder's next day, by the hour"
BY_NAME = {task.name: task for task in TASKS}


@pytest.fixture(scope="module")
def street() -> Street:
    draw = np.random.default_rng(1)
    watts = draw.gamma(2.0, 250.0, (HOMES, DAYS * 96))
    cars = (np.arange(HOMES) % 2).astype(np.float64)
    hour = np.arange(DAYS * 96) / 4 % 24
    watts += cars[:, np.newaxis] * 3000 * within((17, 22), hour)
    sun = 3000 * np.clip(np.sin((hour - 6) / 12 * np.pi), 0, 1) * np.ones((4, 1))
    return Street(watts, cars, watts[:4] - sun, sun)


def test_noise_is_what_the_program_draws() -> None:
    """In the middle of the range: mean size, spread, and how often there is none."""
    setting = Setting("", plain(QUARTER, "0.01", interval=QUARTER))
    traces = [Trace(f"m-{n}", 0, QUARTER, np.full(96, 12_000.0)) for n in range(400)]
    seen = release(traces, setting.policy, NoiseKey(bytes(32)))
    program = np.array([one.unbiased[:, 0] for one in seen]) - 12_000
    drawn = noise(setting, program.shape, np.random.default_rng(2))
    for of in (program, drawn):
        assert of.std() == pytest.approx(deviation(setting), rel=0.03)
        assert abs(of.mean()) < 4 * deviation(setting) / of.size**0.5
        assert (of == 0).mean() == pytest.approx(np.tanh(0.05), abs=0.005)
    assert np.abs(program).mean() == pytest.approx(np.abs(drawn).mean(), rel=0.03)


def test_without_noise_every_task_that_a_setting_can_say_is_served(street: Street) -> None:
    exact = plain(QUARTER, "5", interval=QUARTER)
    for feeder in (False, True):
        setting = Setting("", exact, feeder=feeder)
        told = {t.name: t.measure(street, setting, np.random.default_rng(3)) for t in TASKS}
        assert all(BY_NAME[n].works(v) for n, v in told.items() if v is not None), told
        assert sum(number is None for number in told.values()) == (5 if feeder else 0)


def test_with_all_the_noise_there_is_none_is(street: Street) -> None:
    setting = Setting("", plain(QUARTER, "0.0000001", interval=QUARTER))
    told = {t.name: t.measure(street, setting, np.random.default_rng(3)) for t in TASKS}
    assert not any(BY_NAME[name].works(number) for name, number in told.items()), told


def test_a_number_works_where_its_whole_interval_does() -> None:
    at_most, at_least = BY_NAME["a home's day"], BY_NAME["a home's month"]
    assert at_most.works(Number(9.5, 9, 10))
    assert not at_most.works(Number(9.5, 9, 10.1))
    assert at_least.works(Number(95, 90, 97))
    assert not at_least.works(Number(95, 89.9, 97))


@pytest.mark.parametrize("name", ["a home's month", "a feeder's load, window by window"])
def test_an_interval_holds_what_other_draws_come_to(street: Street, name: str) -> None:
    """Of twenty other runs, most; and it is no wider than it has to be."""
    setting, task = Setting("", plain(QUARTER, "0.01", interval=QUARTER)), BY_NAME[name]
    every = [task.measure(street, setting, np.random.default_rng(n)) for n in range(20)]
    found = [one for one in every if one is not None]
    mean = np.mean([one.mean for one in found])
    assert sum(one.low <= mean <= one.high for one in found) >= 16
    assert 0 < np.mean([one.high - one.low for one in found]) < 12 * np.std([o.mean for o in found])


def test_what_is_reached_by_less_is_not_good_enough() -> None:
    for name, number in (("cars among 40 homes", "cars"), (TOMORROW, "tomorrow")):
        assert FOUND["untold"][number] > BY_NAME[name].enough


def test_the_street_is_one_of_homes_as_errors_are_stated_for() -> None:
    """So that shares of a load are shares of the same load on every page."""
    assert FOUND["mean_watts"] == pytest.approx(USUAL, rel=0.02)
    assert FOUND["homes"] == HOMES_OF_ALL


def test_one_draw_for_a_feeder_is_nearer_by_the_root_of_its_homes(street: Street) -> None:
    policy, draw = plain(QUARTER, "0.001", interval=QUARTER), np.random.default_rng(4)
    task = BY_NAME["a feeder's load, window by window"]
    own, drawn = (task.measure(street, Setting("", policy, feeder=f), draw) for f in (False, True))
    assert own is not None
    assert drawn is not None
    assert own.mean / drawn.mean == pytest.approx((4 * HOMES / np.pi) ** 0.5, rel=0.08)


def test_registers_split_a_day(street: Street) -> None:
    hour = np.arange(96) / 4
    assert (within((7, 23), hour) ^ within((23, 7), hour)).all()
    [by_time] = [one for one in settings() if one.registers]
    assert sum((high - low) % 24 for low, high in by_time.registers) == 24
    assert windows(street.watts, by_time).shape == (HOMES, 1)
    assert by_time.policy.size == MONTH == DAYS * DAY


def test_every_preset_has_its_column() -> None:
    own = {one.name for one in settings() if not one.feeder}
    assert own - {""} == {*presets()}
    assert {*presets("groups")} <= {one.name for one in settings() if one.feeder}


def test_the_same_draws_say_the_same(street: Street) -> None:
    """The short form of the next one."""
    setting = Setting("", plain(QUARTER, "0.01", interval=QUARTER))
    once, again = (
        [task.measure(street, setting, np.random.default_rng(5)) for task in TASKS]
        for _ in range(2)
    )
    assert once == again


@pytest.mark.slow
def test_a_quick_run_says_the_same_twice(tmp_path: Path) -> None:
    said = []
    for name in ("a", "b"):
        run = Run("uses", SEED, tmp_path / name, quick=True, traces=None, command="")
        uses.simulate(run)
        said.append((run.results, (run.out / "uses-map.png").read_bytes()))
    assert said[0] == said[1]


def test_the_page_is_that_of_the_results_that_are_kept() -> None:
    """If not: python -m simulations.uses"""
    assert (RESULTS / "uses.md").read_text("utf-8") == page(KEPT["command"], FOUND)
    assert not KEPT["quick"]
    assert [one["label"] for one in FOUND["settings"]] == [one.label for one in settings()]


def test_presets_keep_what_they_are_for() -> None:
    told = {one["label"]: one["told"] for one in FOUND["settings"]}
    hidden = {
        "`tv-content`": SECRETS[:1],
        "`appliances`": SECRETS[:3],
        "`presence`": SECRETS[:4],
        "`bill`": SECRETS[:2],
        "`feeder`": SECRETS[:3],
        "`feeder-15m`": SECRETS[:3],
    }
    for label, secrets in hidden.items():
        assert all(told[label][one.name]["kept"] for one in secrets), label


def test_a_bill_serves_bills_and_a_feeder_what_feeders_are_for() -> None:
    used = {one["label"]: one["used"] for one in FOUND["settings"]}
    assert used["`bill`"]["a home's month"]["works"]
    assert used["`bill` by day and night"]["a home's bill by day and night"]["works"]
    for name in ("a feeder's load, window by window", "a feeder's peak of the month"):
        assert used["feeder, 1 h, 1 kW"][name]["works"]
    for label in ("`feeder`", "`feeder-15m`"):
        assert used[label][TOMORROW]["works"]
