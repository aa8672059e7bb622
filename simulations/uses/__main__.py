"""`python -m simulations.uses`: which use of releases needs which setting, and what that tells.

Bills, peaks, forecasts, theft, the sun and cars, from every preset and some plain averages, of
single homes and of a feeder in one draw; and beside it how often the best attacker is right about
an evening, a kettle, a day and a week away. One table, one picture, one page.
"""

from typing import Any

from simulations.kit.command import Run, main
from simulations.kit.yardstick import up
from simulations.uses.page import page
from simulations.uses.picture import picture
from simulations.uses.settings import Setting, settings
from simulations.uses.street import Street, street
from simulations.uses.tasks import TASKS, Number, untold
from simulations.uses.told import SECRETS, Attacker


def simulate(run: Run) -> None:
    """Every setting, told and used."""
    homes, attacker = street(run), Attacker(run)
    rows = [
        _row(setting, place, homes, attacker, run)
        for place, setting in enumerate(run.each(settings(), "settings"))
    ]
    run.results = {
        "homes": len(homes.watts),
        "mean_watts": round(float(homes.watts.mean()), 1),
        "homes_with_panels": len(homes.net),
        "untold": untold(homes, run.draw(81)),
        "settings": rows,
        "secrets": [{"name": one.name, "chance": one.chance} for one in SECRETS],
        "tasks": [
            {"name": one.name, "asks": one.asks, "unit": one.unit}
            | {"enough": one.enough, "limit": one.limit}
            for one in TASKS
        ],
    }
    picture(run, run.results)
    (run.out / "uses.md").write_text(page(run.command, run.results), encoding="utf-8")


def _row(
    setting: Setting, place: int, homes: Street, attacker: Attacker, run: Run
) -> dict[str, Any]:
    told = attacker.success(setting)
    used = {
        task.name: task.measure(homes, setting, run.draw(80, place, number))
        for number, task in enumerate(TASKS)
    }
    return {
        "label": setting.label,
        "words": setting.words,
        "feeder": setting.feeder,
        "told": {
            one.name: {"success": up(told[one.name]), "kept": one.kept(told[one.name])}
            for one in SECRETS
        },
        "used": {
            one.name: _found(used[one.name]) | {"works": one.works(used[one.name])} for one in TASKS
        },
    }


def _found(number: Number | None) -> dict[str, float | None]:
    return {"number": None} if number is None else {**number.document()}


if __name__ == "__main__":
    raise SystemExit(main("uses", __doc__, simulate))
