"""Audit what `meteragent sanitize` publishes, from outside, against what it promises.

    python -m simulations.audit            ten pairs of worlds, and five builds with a mistake
    python -m simulations.audit --quick    three of the pairs, fewer draws

Two worlds whose every reading differs by at most the radius are written as files, sanitized by
the command line under many keys, and told apart as well as can be. That gives the smallest
epsilon that could have produced what was published. It must not exceed what the releases
state; where the pair uses the promise up it must come within 10 % of it, or the audit would
have no teeth; and on builds with a mistake it must exceed it. Ends with 1 if any of this fails.
"""

import sys
from typing import Any

from simulations.audit import worlds
from simulations.audit.builds import BUILDS, STOCK
from simulations.audit.drive import Sizes, observe
from simulations.audit.picture import draw
from simulations.audit.verdict import TRAINING, WITHIN, WRONG, Verdict, judge
from simulations.audit.worlds import Experiment
from simulations.kit.command import Run, main

FULL, FULL_MISTAKES = Sizes(keys=10, meters=10_000), Sizes(keys=4, meters=10_000)
QUICK, QUICK_MISTAKES = Sizes(keys=2, meters=16_000), Sizes(keys=1, meters=10_000)
QUICK_EXPERIMENTS: tuple[Experiment, ...] = (worlds.ONE_ANSWER, worlds.WHOLE_WINDOW, worlds.HORIZON)
BRIEF = (worlds.ONE_ANSWER, worlds.HORIZON, worlds.CORRECTED)
"""What a build with a mistake is audited with."""
NOTICED = {"stingy": BRIEF[:1], "half-even": BRIEF[:1], "cut-tail": BRIEF[:1]}
"""Where a quick run looks for a mistake, rather than everywhere."""
NOTICED |= {"window-free": BRIEF[1:2], "answer-free": BRIEF[2:]}


def simulate(run: Run) -> None:
    """Audit the product, then the builds with a mistake."""
    experiments = QUICK_EXPERIMENTS if run.quick else worlds.EXPERIMENTS
    sizes, few = (QUICK, QUICK_MISTAKES) if run.quick else (FULL, FULL_MISTAKES)
    product = {
        e.name: judge(observe(e, STOCK, sizes, run.seed)) for e in run.each(experiments, "product")
    }
    mistaken = {
        build.name: {
            e.name: judge(observe(e, build.name, few, run.seed))
            for e in (NOTICED[build.name] if run.quick else BRIEF)
        }
        for build in run.each(BUILDS, "builds with a mistake")
    }
    passed = all(_as_it_should(e, product[e.name]) for e in experiments)
    passed &= all(not all(v.kept for v in found.values()) for found in mistaken.values())
    run.results |= {
        "passed": passed,
        "false_alarm": WRONG,
        "within": WITHIN,
        "draws": {"product": sizes.draws, "mistakes": few.draws, "choosing": f"1 in {TRAINING}"},
        "keys": {"product": sizes.keys, "mistakes": few.keys},
        "product": [_row(e, product[e.name]) for e in experiments],
        "mistakes": [
            {"build": b.name, "mistake": b.mistake, "noticed": not all(v.kept for v in f.values())}
            | {"found": {name: _numbers(verdict) for name, verdict in f.items()}}
            for b, f in ((b, mistaken[b.name]) for b in BUILDS)
        ],
    }
    draw(run, product, mistaken)
    _print(product, mistaken)
    if not passed:
        run.write()
        raise SystemExit("the audit failed")


def _as_it_should(experiment: Experiment, verdict: Verdict) -> bool:
    return verdict.close if experiment.tight else verdict.kept


def _row(experiment: Experiment, verdict: Verdict) -> dict[str, Any]:
    return {
        "worlds": experiment.name,
        "why": experiment.why,
        "watts_apart": experiment.distance(),
        "uses_the_promise_up": experiment.tight,
        **_numbers(verdict),
    }


def _numbers(verdict: Verdict) -> dict[str, Any]:
    return {
        "claimed": round(verdict.claimed, 6),
        "smallest_consistent": round(verdict.smallest, 4),
        "estimate": round(verdict.estimate, 4),
        "share_of_claim": round(verdict.share, 4),
        "kept": verdict.kept,
        "event": verdict.event,
        "seen": [verdict.likelier, verdict.rarer, verdict.tests],
        "nothing_else_differs": verdict.otherwise_equal,
    }


def _print(product: dict[str, Verdict], mistaken: dict[str, dict[str, Verdict]]) -> None:
    print(f"{'':42} promised   found at least")
    for name, verdict in product.items():
        print(_line(name, verdict))
    for build, found in mistaken.items():
        for name, verdict in found.items():
            print(_line(f"{build}: {name}", verdict))


def _line(name: str, verdict: Verdict) -> str:
    said = "kept" if verdict.kept else "BROKEN"
    return f"{name:42} {verdict.claimed:8.2f} {verdict.smallest:12.3f}   {said}"


if __name__ == "__main__":
    sys.exit(main("audit", __doc__, simulate))
