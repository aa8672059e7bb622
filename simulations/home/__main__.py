"""`python -m simulations.home`: what attackers find out about a home from its releases.

Homes with people, appliances, heat pumps, cars and panels are simulated, or read from recordings
(`--traces DIR`), and released by the product's own pipeline. Attackers look for uses of
appliances, for people, for days away, and for charges of a car.
"""

from meteragent.privacy.entropy import NoiseKey
from simulations.home import pictures, real, steps, watching, weighing
from simulations.home.house import Home
from simulations.home.policies import MINUTE, plain
from simulations.kit.command import Run, main
from simulations.kit.product import release

VIEWS = (
    ("Released every minute, with a typical noise of 10 W", MINUTE, "0.1"),
    ("Released every 15 minutes, with a typical noise of 100 W", 15 * MINUTE, "0.01"),
)
WORKDAY = 1


def simulate(run: Run) -> None:
    """All attacks, their pictures and their numbers."""
    _show_a_day(run)
    run.results["steps"] = steps.study(run)
    pictures.steps(run, run.results["steps"])
    run.results["presence"] = watching.study(run)
    pictures.presence(run, run.results["presence"])
    run.results["one use"] = weighing.study(run)
    pictures.frontier(run, run.results["one use"]["frontier"])
    if run.traces:
        run.results["recordings"] = real.study(run, run.traces)


def _show_a_day(run: Run) -> None:
    home = Home.draw(run.seed, 11, having=("dryer",), lacking=("pv", "heat_pump", "ev"))
    life = home.live(7)
    views = []
    for place, (words, window, epsilon) in enumerate(VIEWS):
        key = NoiseKey(run.draw(1, place).bytes(32))
        policy = plain(window, epsilon, interval=10_000)
        views.append((words, window, release([life.trace()], policy, key)[0]))
    pictures.a_day(run, life, views, WORKDAY)


if __name__ == "__main__":
    raise SystemExit(main("home", __doc__, simulate))
