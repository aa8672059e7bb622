"""`python -m simulations.utility`: what releases are still good for.

Energy of days and months, bills by time of use, peaks and load duration, forecasts, and the load
of feeders from 1 to 10,000 homes: each from `value` and from `unbiased`, against the truth, at
the presets and at other settings.
"""

import numpy as np

from simulations.home.street import QUARTER
from simulations.kit.command import Run, main
from simulations.utility import energy, feeder, forecast, pictures
from simulations.utility.street import Setting, asked, homes, released


def simulate(run: Run) -> None:
    """All uses of releases, their pictures and their numbers."""
    run.results["energy"] = energy.study(run)
    pictures.months(run, run.results["energy"])
    run.results["feeders"] = feeder.study(run)
    pictures.feeders(run, run.results["feeders"])
    run.results["forecasts"] = forecast.study(run)
    pictures.forecasts(run, run.results["forecasts"])
    _duration(run)


def _duration(run: Run) -> None:
    setting = Setting("15 min, 100 W", asked(QUARTER, "0.01"))
    seen, truth = released(homes(run), setting, run, 900)
    value = np.array([one.values[:, 0] for one in seen])
    unbiased = np.array([one.unbiased[:, 0] for one in seen])
    curves = {
        "One home": (truth[0], value[0], unbiased[0]),
        f"Mean of {len(truth)} homes": (truth.mean(0), value.mean(0), unbiased.mean(0)),
    }
    pictures.duration(run, curves)


if __name__ == "__main__":
    raise SystemExit(main("utility", __doc__, simulate))
