"""`python -m simulations.claims`: what is claimed of presets, held against trials and other traces.

    python -m simulations.claims                  homes and films of other seeds
    python -m simulations.claims --traces DIR     recordings of television sets and appliances, too

Every contest under every preset, once worked out and once tried through the program; and the limit
of every preset, for one event, on traces that it was not chosen by.
"""

import sys

from simulations.claims.agreement import TOGETHER
from simulations.claims.fresh import fresh
from simulations.claims.page import page
from simulations.claims.picture import picture
from simulations.claims.tried import tried
from simulations.kit.command import Run, main


def simulate(run: Run) -> None:
    """Both, as a page, a picture and numbers."""
    found = tried(run)
    run.results = {
        "false_alarm_together": TOGETHER,
        "tried": [one.document(len(found)) for one in found],
        "fresh": fresh(run),
    }
    picture(run, run.results["tried"])
    (run.out / "claims.md").write_text(page(run.command, run.results), encoding="utf-8")
    agree = sum(one["agrees"] for one in run.results["tried"])
    kept = sum(one["kept"] for one in run.results["fresh"])
    print(f"{agree} of {len(found)} contests agree; {kept} of {len(run.results['fresh'])} kept")


if __name__ == "__main__":
    sys.exit(main("claims", __doc__, simulate))
