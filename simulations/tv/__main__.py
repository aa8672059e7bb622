"""`python -m simulations.tv`: attacks on television, on clean data and under noise.

python -m simulations.tv                       films that are made up
python -m simulations.tv --traces DIR          also recordings of real plugs
python -m simulations.tv replay --to kafka     send them to a topic, at any speed (see --help)
"""

import sys

from simulations.kit import command
from simulations.kit.command import Run
from simulations.tv import clean, figures, noise, replay
from simulations.tv.library import library


def simulate(run: Run) -> None:
    """Everything, into the run's results and pictures."""
    films = library(run.draw(0), 60 if run.quick else 300)
    run.results["films"] = len(films.programmes)
    run.results["clean"] = {
        "displays": clean.displays(run, films),
        "channels": clean.channels(run, films),
        "clocks": clean.clocks(run, films),
        "real": clean.real(run),
    }
    run.results["chunks"] = noise.chunks(run, films)
    run.results["evenings"] = noise.evenings(run, films)
    run.results["real"] = {
        "correlation": noise.real_correlation(run),
        "likelihood": noise.real_likelihood(run),
    }
    figures.signature(run, films)
    figures.clean(run, run.results["clean"]["displays"])
    figures.chunks(run, run.results["chunks"])
    figures.evenings(run, run.results["evenings"])
    figures.real(run, run.results["real"]["likelihood"])


if __name__ == "__main__":
    if sys.argv[1:2] == ["replay"]:
        sys.exit(replay.main(sys.argv[2:]))
    sys.exit(command.main("tv", __doc__, simulate))
