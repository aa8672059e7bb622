"""Simulated homes: their energy adds up, their days are repeatable, their attackers are strong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from meteragent.privacy.domain import Domain
from meteragent.privacy.mechanism import TruncatedGeometric
from meteragent.privacy.question import question
from simulations.home.appliances import USED, Use, power
from simulations.home.contests import Street, days_away, moved_uses, name_the_hour, single_uses
from simulations.home.edges import added, signature
from simulations.home.house import CHANNELS, Home
from simulations.home.likelihood import Pair, auc, tell_apart
from simulations.home.policies import CLEAN, HOUR, MINUTE, by_days, plain
from simulations.home.presence import Habits, absent_days, busy, daytime, occupied
from simulations.home.readers import recorded
from simulations.home.steps import by_day
from simulations.kit import product
from simulations.kit.product import release
from simulations.kit.statistics import Share
from simulations.kit.traces import Trace
from tests.given import KEY

if TYPE_CHECKING:
    from pathlib import Path

SEED = 20261118


def draw(purpose: int = 0) -> np.random.Generator:
    return np.random.default_rng([SEED, purpose])


# Homes.


def test_the_energy_of_all_appliances_is_the_meters() -> None:
    life = Home.draw(SEED, 0, having=("pv", "ev", "heat_pump")).live(7)
    assert set(life.power) <= set(CHANNELS)
    np.testing.assert_allclose(life.trace().watts, sum(life.power.values()), rtol=0, atol=1e-6)
    assert life.power["pv"].min() < 0 <= life.trace(without=("pv",)).watts.min()


@pytest.mark.parametrize("interval", [10_000, 60_000, 900_000])
@pytest.mark.parametrize("used", USED, ids=lambda used: used.name)
def test_a_use_keeps_its_energy_at_any_interval(used: object, interval: int) -> None:
    assert isinstance(used, type(USED[0]))
    use = Use(12_345.6, used.cycle(used.high, draw()))
    watts = power([use], 86_400_000 // interval, interval)
    assert watts.sum() * interval / 1000 == pytest.approx(use.joules)
    assert watts.max() <= used.high + 1e-6


def test_the_same_seed_lives_the_same_days_and_another_does_not() -> None:
    home, again, other = (Home.draw(seed, 3).live(3).trace() for seed in (SEED, SEED, SEED + 1))
    np.testing.assert_array_equal(home.watts, again.watts)
    assert not np.array_equal(home.watts, other.watts)


def test_who_is_away_leaves_everything_else_as_it_was() -> None:
    home = Home.draw(SEED, 1, having=("heat_pump",), lacking=("pv",))
    at_home, away = home.live(6), home.live(6, away=[3])
    day = slice(3 * 8640, 4 * 8640)
    assert not away.presence.someone[3 * 1440 : 4 * 1440].any()
    assert away.power["lights"][day].sum() == 0 < at_home.power["lights"][day].sum()
    for untouched in ("fridge", "heat_pump", "standby"):
        np.testing.assert_array_equal(at_home.power[untouched], away.power[untouched])
    before = slice(0, 3 * 8640)
    np.testing.assert_array_equal(at_home.trace().watts[before], away.trace().watts[before])
    assert away.trace().watts[day].mean() < at_home.trace().watts[day].mean()


def test_export_is_released_where_the_range_reaches_below_zero() -> None:
    trace = Home.draw(SEED, 2, having=("pv",)).live(14, interval=MINUTE).trace()
    truth = trace.coarser(15 * MINUTE).watts
    (whole,) = release([trace], plain(15 * MINUTE, "0.1", minimum=-6000), KEY)
    (cut,) = release([trace], plain(15 * MINUTE, "0.1"), KEY)
    assert truth.min() < -500
    assert whole.values.min() < -500
    assert whole.unbiased.mean() == pytest.approx(truth.mean(), abs=6)
    assert cut.values.min() == 0


# Step detection.


def f1(epsilon: str, window: int, names: tuple[str, ...]) -> dict[str, tuple[float, float]]:
    """Of the uses that there are, and of those of another day."""
    homes = [Home.draw(SEED, n, lacking=("ev", "pv", "heat_pump")) for n in range(3)]
    lives = [home.live(4) for home in homes]
    policy = plain(window, epsilon, interval=10_000)
    seen = by_days([life.trace() for life in lives], policy, KEY)
    found = {}
    for name in names:
        scores = [
            by_day(life, signature(name, home.size[name]), one.values[:, 0], window / 1000)
            for home, life, one in zip(homes, lives, seen, strict=True)
        ]
        right, wrong = ([day for days in one for day in days] for one in zip(*scores, strict=True))
        found[name] = added(right).f1, added(wrong).f1
    return found


def test_step_detection_finds_appliances_in_clean_data() -> None:
    found = f1(CLEAN, 10_000, ("kettle", "fridge"))
    assert all(right >= 0.8 for right, _ in found.values())
    assert all(by_luck <= 0.2 for _, by_luck in found.values())


def test_step_detection_finds_no_fridge_under_noise_of_its_size() -> None:
    right, by_luck = f1("0.005", MINUTE, ("fridge",))["fridge"]
    assert right < by_luck + 0.1


# Presence.


def watched(epsilon: str) -> tuple[float, float, float]:
    """Areas of the naive attacker and of the one who knows; how often the latter is right."""
    naive, knowing, right = [], [], []
    policy = plain(HOUR, epsilon)
    for number in range(4):
        home = Home.draw(SEED, number, lacking=("pv", "heat_pump", "ev"))
        former, life = home.live(28, interval=MINUTE), home.live(28, first=28, interval=MINUTE)
        (seen,) = by_days([life.trace()], policy, KEY)
        asked, someone = daytime(len(seen.values), HOUR), occupied(life, HOUR)
        habits = Habits.of(former, policy)
        before, after = habits.weigh(habits.evidence(seen, policy))
        naive.append(auc(busy(seen.values[:, 0])[asked], someone[asked]))
        knowing.append(auc((after - before)[asked], someone[asked]))
        right.append(((after > 0) == someone)[asked].mean())
    return float(np.mean(naive)), float(np.mean(knowing)), float(np.mean(right))


def test_presence_is_seen_in_clean_data_as_often_as_the_literature_says() -> None:
    naive, knowing, right = watched(CLEAN)
    assert naive > 0.75
    assert knowing > 0.85
    assert right > 0.8


def test_presence_is_not_seen_under_noise_of_ten_kilowatts() -> None:
    naive, knowing, _ = watched("0.0001")
    assert abs(naive - 0.5) < 0.06
    assert abs(knowing - 0.5) < 0.06


def test_days_away_are_seen_in_clean_data() -> None:
    home, policy = Home.draw(SEED, 1, lacking=("pv", "heat_pump", "ev")), plain(HOUR, CLEAN)
    former = home.live(28, interval=MINUTE)
    life = home.live(14, first=28, away=[2, 3, 9], interval=MINUTE)
    (seen,) = by_days([life.trace()], policy, KEY)
    evidence = Habits.of(former, policy).evidence(seen, policy).reshape(14, 24).sum(axis=1)
    assert absent_days(life).sum() == 3
    assert auc(-evidence, absent_days(life)) > 0.9


def test_the_area_under_the_curve_counts_ties_as_half() -> None:
    truths = np.array([True, True, False, False])
    assert auc(np.array([3.0, 2.0, 1.0, 0.0]), truths) == 1
    assert auc(np.array([0.0, 1.0, 2.0, 3.0]), truths) == 0
    assert auc(np.zeros(4), truths) == 0.5
    assert auc(np.array([2.0, 1.0, 1.0, 0.0]), truths) == 0.875


# The attacker who holds both versions.


@pytest.fixture(scope="module")
def street() -> Street:
    return Street(SEED, 2, 8, MINUTE, having=("ev",))


@pytest.mark.parametrize("name", ["kettle", "fridge", "oven", "ev"])
def test_one_use_is_seen_in_clean_data_and_not_under_boundless_noise(
    street: Street, name: str
) -> None:
    pairs = single_uses(street, name, 15 * MINUTE, 60, draw(1))
    assert tell_apart(pairs, plain(15 * MINUTE, CLEAN), KEY, draw(2)).share().value >= 0.98
    drowned = plain(15 * MINUTE, "0.000001")
    assert tell_apart(pairs, drowned, KEY, draw(3)).share().holds(0.5)


def test_a_day_away_is_seen_in_daily_means(street: Street) -> None:
    pairs = days_away(street, 24 * HOUR, 1, 14, draw(1))
    assert tell_apart(pairs, plain(24 * HOUR, CLEAN), KEY, draw(2)).share().value == 1


def test_the_hour_of_a_use_is_seen_in_hourly_means_and_not_in_daily_ones(street: Street) -> None:
    for window, seen in ((HOUR, True), (24 * HOUR, False)):
        timed = moved_uses(street, ["oven", "washer"], window, 40, draw(1))
        share = name_the_hour(timed, plain(window, CLEAN), KEY, draw(2))
        assert share.value >= 0.9 if seen else share.holds(1 / 21)


@pytest.mark.parametrize(("level", "apart"), [(0, 1), (3, 4), (20, 4)])
def test_the_attacker_is_right_exactly_as_often_as_the_mechanism_allows(
    level: int, apart: int
) -> None:
    """One half and half the total variation between both laws; at one error in 10,000."""
    domain, epsilon = Domain(0, 240, 10), "0.02"
    policy = product.policy(
        domain, [question("avg", epsilon, 1)], window=MINUTE, interval=MINUTE, horizon=MINUTE
    )
    pairs = [
        Pair(*(Trace("", n * MINUTE, MINUTE, np.array([10.0 * y])) for y in (level + apart, level)))
        for n in range(2000)
    ]
    rows = TruncatedGeometric(domain, epsilon).matrix()
    best = 0.5 + np.abs(rows[level] - rows[level + apart]).sum() / 4
    share = tell_apart(pairs, policy, KEY, draw(level)).share()
    assert Share(share.hits, share.of, confidence=0.9999).holds(float(best))


# Recordings.


def test_recordings_are_read_in_each_of_their_formats(tmp_path: Path) -> None:
    (tmp_path / "house").mkdir()
    (tmp_path / "house" / "a.dat").write_text("1365794100 300\n1365794130 320\n1365794160 340\n")
    (tmp_path / "b.tsv").write_text("1310144640\t806\n1310144700\t808\n")
    (tmp_path / "c.csv").write_text("0\n1.5\n" + "2000\n" * 118)
    (tmp_path / "d.txt").write_text(
        "Date;Time;Global_active_power;Global_reactive_power;Voltage;Global_intensity;"
        "Sub_metering_1;Sub_metering_2;Sub_metering_3\r\n"
        "16/12/2006;17:24:00;4.216;0.418;234.840;18.400;0.000;1.000;17.000 \r\n"
        "16/12/2006;17:25:00;?;?;?;?;?;?;?\r\n"
        "16/12/2006;17:26:00;5.360;0.436;233.630;23.000;0.000;1.000;16.000\r\n"
    )
    (tmp_path / "README.md").write_text("Not a trace.\n")
    (tmp_path / "empty.csv").write_text("")
    read = {one.total.name: one for one in recorded(tmp_path, MINUTE)}
    assert sorted(read) == ["a", "b", "c", "d"]
    assert read["a"].total.watts.tolist() == [310, 340]
    assert read["b"].total.watts.tolist() == [806, 808]
    assert read["c"].total.watts[1] == 2000
    np.testing.assert_array_equal(read["d"].total.watts, [4216, np.nan, 5360])
    assert [part.watts[0] for part in read["d"].parts] == [0, 60, 1020]


def test_a_folder_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(recorded(tmp_path / "nowhere", MINUTE))
