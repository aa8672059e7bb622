"""`python -m simulations.feeder`: one draw for a group of homes, beside one draw for each home.

The load of quarter hours and the peak of a day, of 10 to 1,000 homes, at the same promise to each
of them: summed from single homes' releases, and released of the group; beside it, ordinary
differential privacy for each home. Then what the sums are good for: peaks, tomorrow, theft, cars
and panels.
"""

import sys

from simulations.feeder.pictures import errors, uses
from simulations.feeder.served import served
from simulations.feeder.study import ratios, study
from simulations.kit.command import Run, main


def simulate(run: Run) -> None:
    """The study, its picture, and what it comes to."""
    found = study(run)
    run.results["promises"] = found
    errors(run, found)
    run.results["uses"] = served(run)
    uses(run, run.results["uses"])
    for words, sizes in ratios(found).items():
        told = ", ".join(f"{size} homes x{times:g}" for size, times in sizes.items())
        sys.stdout.write(f"{words}: one draw is nearer by {told}\n")


if __name__ == "__main__":
    raise SystemExit(main("feeder", __doc__, simulate))
