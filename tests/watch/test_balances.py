from __future__ import annotations

import math
import random
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest

from meteragent.privacy.ledger import Ledger
from meteragent.stream.pipeline import DAWN, Holding, Pipeline
from meteragent.watch.balances import Balances
from meteragent.watch.gauges import Present, exhaustion
from meteragent.watch.recent import Recent
from meteragent.watch.series import Series
from meteragent.watch.watched import Clocks
from tests.watch.stage import BEGIN, MINUTE, Stage, block, config
from tests.watch.test_metrics import MOST_SERIES

if TYPE_CHECKING:
    from meteragent.privacy.policy import Policy

HOUSEHOLD = next(iter(config().guarantees.values()))
MILLION = 1_000_000
MOST_SECONDS = 1.0


@dataclass
class Accounts:
    """A partition that consists of accounts alone."""

    policy: Policy
    ledger: Ledger
    clock: int = DAWN
    counted: int = field(default=0, compare=False)

    def holdings(self) -> list[Holding]:
        self.counted += 1
        return [Holding(self.policy, len(self.ledger), self.ledger, 7, 100)]

    def position(self) -> Accounts:
        return self

    processed = 0


@dataclass
class Watching:
    """A fleet of such partitions."""

    partitions: dict[int, Accounts]
    now: float = 0.0
    ready = alive = True
    stood_still = 0.0
    fingerprint = "0"
    clocks = Clocks()

    def pipelines(self) -> dict[int, Pipeline]:
        return cast("dict[int, Pipeline]", self.partitions)

    def awaited(self) -> dict[int, float]:
        return {}

    def blocked(self) -> dict[int, tuple[int, float]]:
        return {}

    def lags(self) -> dict[int, int]:
        return {}

    def fleet(self) -> Balances:
        return Balances(self.pipelines, clock=lambda: self.now)


def ledger(accounts: int, windows: int, share: float, seed: int = 0) -> Ledger:
    """Accounts that paid for a share of so many windows."""
    made, rng = Ledger(HOUSEHOLD.policy.terms, accounts), np.random.default_rng(seed)
    for window in range(windows):
        some = np.flatnonzero(rng.random(accounts) < share)
        made.charge(some, np.full(len(some), BEGIN + window * MINUTE))
    return made


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 1.0])
@pytest.mark.parametrize("windows", [1, 6, 25])
def test_the_fleet_is_the_sum_of_its_accounts(windows: int, share: float) -> None:
    policy = HOUSEHOLD.policy
    clock = BEGIN + windows * MINUTE
    parts = [Accounts(policy, ledger(200, windows, share, seed), clock) for seed in range(3)]
    standing = Watching(dict(enumerate(parts))).fleet().standings()[policy.id]
    left = [
        int(part.ledger.left(np.array([account]), clock)[0])
        for part in parts
        for account in range(len(part.ledger))
    ]
    budget = policy.budget
    assert standing.meters == 600
    assert standing.left == sum(left)
    assert standing.exhausted == sum(x < policy.terms.price for x in left)
    assert standing.low == sum(10 * x <= budget for x in left)
    assert standing.percent.tolist() == [
        sum(math.ceil(100 * x / budget) == percent for x in left) for percent in range(101)
    ]
    assert (standing.open_windows, standing.bytes_per_meter) == (21, 100)
    tenth = sorted(left)[len(left) // 10] / budget
    assert 0 <= standing.poorest_tenth() - tenth <= 0.011


def test_what_has_not_changed_is_not_counted_again() -> None:
    watching = Watching({0: Accounts(HOUSEHOLD.policy, ledger(10, 1, 1.0), BEGIN)})
    [part] = watching.partitions.values()
    fleet = watching.fleet()
    before = fleet.standings()
    part.ledger.charge(np.arange(10), np.full(10, BEGIN))  # once more
    assert fleet.standings() is before  # within a second
    watching.now = 1.0
    assert part.counted == 1
    known = fleet.standings()[HOUSEHOLD.policy.id]
    watching.now = 2.0
    fleet.changed(0)
    after = fleet.standings()[HOUSEHOLD.policy.id]
    assert after.left == known.left - 10 * HOUSEHOLD.policy.terms.price
    watching.now = -100.0  # a clock that steps back stops nothing
    watching.partitions.clear()
    assert fleet.standings() == {}


def test_meters_that_were_never_heard_of_have_all_their_budget() -> None:
    for clock in (DAWN, BEGIN):
        part = Accounts(HOUSEHOLD.policy, Ledger(HOUSEHOLD.policy.terms, 10), clock)
        standing = Watching({0: part}).fleet().standings()[HOUSEHOLD.policy.id]
        assert standing.percent[100] == standing.meters == 10


def test_a_replay_does_not_make_meters_look_exhausted() -> None:
    """The clock may lie before what the accounts have paid for already."""
    late = Accounts(HOUSEHOLD.policy, ledger(10, 3, 1.0), BEGIN - 1000 * MINUTE)
    standing = Watching({0: late}).fleet().standings()[HOUSEHOLD.policy.id]
    assert standing.exhausted == 0


@pytest.fixture(scope="module")
def million() -> Accounts:
    """A day of 15-minute windows, paid for by a million accounts."""
    [daily] = config(DAILY).guarantees.values()
    terms = daily.policy.terms
    one, windows, everybody = Ledger(terms, 1), terms.per_horizon, np.arange(MILLION)
    for window in range(windows):
        assert one.charge(np.array([0]), np.array([BEGIN + terms.windows.start(window)]))
    made = Accounts(daily.policy, Ledger(terms, MILLION))
    made.ledger.merge(everybody, one, np.zeros(MILLION, dtype=np.int64))
    made.clock = BEGIN + (windows - 1) * daily.policy.hop
    return made


@pytest.mark.parametrize("behind", [0, 1, 7, 48, 95])
def test_a_million_accounts_are_counted_in_passes_over_arrays(
    million: Accounts, behind: int
) -> None:
    """One by one takes a hundred times as long; `python -m simulations.fleet` measures a scrape."""
    part = Accounts(million.policy, million.ledger, million.clock + behind * million.policy.hop)
    watching = Watching({0: part})
    fleet, series = watching.fleet(), Series({"daily": ["avg"]}, {"daily": ["avg"]})
    series.registry.register(Present(config(DAILY).guarantees, watching, fleet, Recent(0.0)))
    seconds = []
    for watching.now in (0.0, 2.0, 4.0, 6.0, 8.0):
        fleet.changed(0)
        begun = time.thread_time()
        body, _ = series.expose()
        seconds.append(time.thread_time() - begun)
        assert b'meteragent_meters{policy="daily"} 1e+06' in body
        assert sum(not line.startswith(b"#") for line in body.splitlines()) < MOST_SERIES
    full = math.ceil(behind * 100 / 96)
    assert fleet.standings()[part.policy.id].percent[full] == MILLION
    assert min(seconds) < MOST_SECONDS, seconds


def standing_of(stage: Stage) -> float:
    standing = stage.monitor.fleet.standings()[HOUSEHOLD.policy.id]
    return exhaustion(HOUSEHOLD.policy, standing, 1.0)


def test_a_budget_is_said_to_run_out_when_it_does() -> None:
    """Ten windows a horizon, of which the budget pays six: the meter runs out after six."""
    stage = Stage(config())
    foretold: list[float] = []
    while not stage.value("windows_suppressed_total", policy="household", reason="budget"):
        minute = len(foretold)
        stage.now = (BEGIN + (minute + 1) * MINUTE) / 1000
        stage.read(0, [block("m", minute, [1] * 6)])
        stage.commit(0)
        foretold.append(BEGIN / 1000 + minute * 60 + standing_of(stage))
    out = BEGIN / 1000 + 6 * 60
    assert foretold[0] == out
    assert max(abs(told - out) for told in foretold[:-1]) <= 60
    assert stage.value("budget_exhaustion_seconds", policy="household") == 0
    assert stage.value("meters_exhausted", policy="household") == 1


def test_a_rate_that_the_budget_bears_never_exhausts_it() -> None:
    [policy] = config(LASTING).policies
    assert policy.terms.per_horizon * policy.terms.price == policy.budget
    part = Accounts(policy, Ledger(policy.terms, 5), BEGIN)
    standing = Watching({0: part}).fleet().standings()[policy.id]
    assert exhaustion(policy, standing, 1.0) == math.inf
    household = HOUSEHOLD.policy
    assert exhaustion(household, standing, 0.5) == math.inf  # half of the windows are covered
    assert exhaustion(household, standing, 0.7) < math.inf


DAILY = """
[[policy]]
name = "daily"
window = "15m"
interval = "10s"
maximum = "24kW"
epsilon = "1"
budget = "96"
"""
LASTING = """
[[policy]]
name = "lasting"
window = "1m"
interval = "10s"
maximum = "24kW"
epsilon = "1"
budget = "10"
horizon = "10m"
"""


def test_the_last_hour_forgets() -> None:
    recent, rng = Recent(0.0), random.Random(1)
    for now in range(0, 30_000, 5):
        recent.bin(now).records += rng.randrange(10)
    assert len(recent._bins) == 360
    assert recent.delay(0.5) is None
    assert recent.asking("household") == 1.0
    assert recent.spent("household", 30_000) == [0.0] * 60


def test_guarantees_are_named_once_for_all_that_promise_the_same() -> None:
    twice = LASTING + LASTING.replace('name = "lasting"', 'name = "other"\nmatch = "o-"')
    guarantees = config(twice).guarantees.values()
    assert [guarantee.name for guarantee in guarantees] == ["lasting+other"]
