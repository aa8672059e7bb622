"""`python -m simulations.choose`: the cheapest policy under which attacks gain next to nothing.

    python -m simulations.choose --hide tv-content --max-error 20W
    python -m simulations.choose --hide bill         as much noise as a bill of 1 % can bear
    python -m simulations.choose --hide feeder       one home of a feeder, in its half hours
    python -m simulations.choose --write-presets     from the results of all of them

Of the policies under which the strongest attack on one event is right in at most 54 % of cases
where guessing is right in 50 %, and at most seven times where guessing is six times, it takes the
finest window whose releases are off by no more than is allowed, and prints it as TOML, with what
speaks for it, and what a week and four weeks tell. Success is worked out, and not tried. Where
there is no such policy, it says so, and shows what each window would cost.
"""

import argparse
import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from meteragent.privacy.units import watts
from simulations.choose import bill, feeder
from simulations.choose.document import policy_toml, preset, presets_toml
from simulations.choose.figure import frontier
from simulations.choose.search import Point, Trial, chosen, search, within
from simulations.kit import command
from simulations.kit.command import RESULTS, Run
from simulations.kit.traces import USUAL
from simulations.kit.yardstick import Yardstick

YARDSTICKS = {
    "tv-content": ("simulations.tv.yardstick", "tv_content"),
    "appliances": ("simulations.home.yardstick", "appliances"),
    "presence": ("simulations.home.yardstick", "presence"),
}
CHOSEN = (*YARDSTICKS, bill.NAME, *feeder.WINDOWS)
BILL = 0.01
"""The error of a month's sum that a bill can bear."""

PRESETS = Path(__file__).parents[2] / "meteragent" / "config" / "presets.toml"


def simulate(run: Run) -> None:
    """Search, choose, and say what was found."""
    if run.options.hide == bill.NAME:
        _billed(run)
    elif run.options.hide in feeder.WINDOWS:
        _grouped(run)
    else:
        _hidden(run)


def _billed(run: Run) -> None:
    """The other way round: what is hidden by all the noise that a bill can bear."""
    run.name, run.command = f"choose-{bill.NAME}", f"{run.command} --hide {bill.NAME}"
    found = bill.affordable(BILL, USUAL, run)
    habits = bill.habits(found.candidate.policy, run)
    source = f"python -m simulations.choose --hide {bill.NAME}"
    run.results = {
        "hide": bill.NAME,
        "hides": bill.HIDES,
        "chosen": preset(bill.NAME, bill.HIDES, found, habits, source),
        "verdicts": [verdict.document() for verdict in found.verdicts],
        "habits": [verdict.document() for verdict in habits],
        "month_error": round(bill.month_error(found.candidate.policy, USUAL), 5),
    }
    print(policy_toml(found.candidate.settings))
    print(_evidence(run.results))


def _grouped(run: Run) -> None:
    """The finest answers about a group that still hide one home."""
    name = run.options.hide
    run.name, run.command = f"choose-{name}", f"{run.command} --hide {name}"
    found = feeder.hidden(name)
    habits = feeder.habits(found.candidate.policy)
    source = f"python -m simulations.choose --hide {name}"
    made = preset(name, feeder.HIDES, found, habits, source)
    error = found.candidate.error
    run.results = {
        "hide": name,
        "hides": feeder.HIDES,
        "chosen": {"of": "groups", **made},
        "verdicts": [verdict.document() for verdict in found.verdicts],
        "habits": [verdict.document() for verdict in habits],
        "off_by_homes": {str(n): round(error / (USUAL * n), 5) for n in feeder.SIZES},
    }
    print(policy_toml(found.candidate.settings, "group"))
    print(_lines(run.results))
    print(f"# one release is off by {made['evidence']['error']} on average, that is of its load:")
    for homes, share in run.results["off_by_homes"].items():
        print(f"#   {homes:>5} homes of {USUAL:g} W  {share:.2%}")


def _hidden(run: Run) -> None:
    hide, most = run.options.hide, float(watts("--max-error", run.options.max_error))
    run.name, run.command = f"choose-{hide}", f"{run.command} --hide {hide}"
    run.command += f" --max-error {run.options.max_error}"
    yardstick = _yardstick(hide, run)
    points = search(yardstick, run)
    found = chosen(points, most)
    run.results = {
        "hide": hide,
        "hides": yardstick.hides,
        "max_error_watts": most,
        "points": [_document(point) for point in points],
        "bills": [_bill(trial) for trial in within(yardstick, BILL, USUAL)],
        "chosen": None,
    }
    if found:
        source = f"python -m simulations.choose --hide {hide} --max-error {run.options.max_error}"
        source += " --traces DIR" * (run.traces is not None)
        settings = found.candidate.settings
        habits = yardstick.habits(found.candidate.tried)
        run.results["chosen"] = preset(hide, yardstick.hides, found, habits, source)
        run.results["habits"] = [verdict.document() for verdict in habits]
        run.results["verdicts"] = [verdict.document() for verdict in found.verdicts]
        run.results["month_error"] = round(found.candidate.month(USUAL), 5)
        print(policy_toml(settings))
        print(_evidence(run.results))
    else:
        print(
            f"# No policy with an error of {most:g} W or less keeps every attack so near guessing."
        )
    print(_table(run.results["points"]))
    print(_bills(run.results["bills"]))
    frontier(run, points, most)


def _yardstick(hide: str, run: Run) -> Yardstick:
    module, name = YARDSTICKS[hide]
    return cast("Yardstick", getattr(import_module(module), name)(run))


def _document(point: Point) -> dict[str, Any]:
    best = point.best
    return {
        "window": point.window,
        "queries": list(point.queries),
        "tried": [
            {
                "noise_watts": trial.candidate.noise,
                "kept": trial.kept,
                "verdicts": [verdict.document() for verdict in trial.verdicts],
            }
            for trial in point.trials
        ],
        "noise_watts": best and best.candidate.noise,
        "error_watts": best and round(best.candidate.error, 2),
        "month_error": best and round(best.candidate.month(USUAL), 5),
    }


def _bill(trial: Trial) -> dict[str, Any]:
    return {
        "window": trial.candidate.window,
        "noise_watts": trial.candidate.noise,
        "month_error": round(trial.candidate.month(USUAL), 5),
        "kept": trial.kept,
        "worst": trial.worst.document(),
    }


def _lines(results: dict[str, Any]) -> str:
    return "\n".join(
        f"# {v['contest']}: {'' if v['exact'] else 'at most '}{100 * v['success']:.2f} % "
        f"(guessing {100 * v['chance']:.2f} %)"
        for v in [*results["verdicts"], *results["habits"]]
    )


def _evidence(results: dict[str, Any]) -> str:
    error, month = results["chosen"]["evidence"]["error"], 100 * results["month_error"]
    return "\n".join(
        [
            _lines(results),
            f"# one release is off by {error} on average",
            f"# a month's sum of a home of {USUAL:g} W: within {month:.2f} % in 95 % of months",
        ]
    )


def _table(points: list[dict[str, Any]]) -> str:
    lines = ["#", "# the least noise that is enough, by window and queries:"]
    for point in points:
        noise = point["noise_watts"]
        error = "none that was tried" if noise is None else f"{point['error_watts']:,.0f} W"
        lines.append(f"#   {point['window']:>4}  {', '.join(point['queries']):<10}  {error}")
    return "\n".join(lines)


def _bills(bills: list[dict[str, Any]]) -> str:
    lines = ["#", f"# what a month's sum within {BILL:.0%} in 95 % of months would give away:"]
    for one in bills:
        worst = one["worst"]
        told = f"{worst['contest']}: {worst['success']:.1%}"
        lines.append(f"#   {one['window']:>4}  {one['noise_watts']:>3} W of noise  {told}")
    return "\n".join(lines)


def write_presets(results: Path, file: Path = PRESETS) -> None:
    """The file of presets, from what was chosen for each."""
    file.write_text(presets_text(results), encoding="utf-8")


def presets_text(results: Path) -> str:
    """Precondition: a result for every preset, in which a policy was found."""
    made = {}
    for hide in CHOSEN:
        document = json.loads((results / f"choose-{hide}.json").read_text(encoding="utf-8"))
        made[hide] = document["results"]["chosen"]
        if made[hide] is None:
            raise SystemExit(f"no policy was found for {hide}: allow a larger error")
    return presets_toml(made)


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--hide", choices=CHOSEN, required=True)
    parser.add_argument("--max-error", default="20W", help="of one release, on average")


if __name__ == "__main__":
    if sys.argv[1:] == ["--write-presets"]:
        write_presets(RESULTS)
        sys.exit()
    sys.exit(command.main("choose", __doc__, simulate, _arguments))
