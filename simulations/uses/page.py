"""What was found as one page, for somebody who has to choose a setting."""

from collections.abc import Iterator
from typing import Any

HEAD = """# Which task needs which setting

You have a task; people have something that is theirs. This page says which setting serves the task,
and what an attacker who knows all else in a home makes of it. In short:

"""
READ = """
**Told** is how often that attacker is right; nobody is right more often, and no trials are made.
Guessing is right in 0.5 % of cases about 200 channels, and in 50 % otherwise. **Bold** is next to
guessing: at most 4 points more, and at most seven times where guessing is six. Of a feeder the
attacker knows every other home.

**Used** is what the task comes to, with its 95 % interval in brackets: over homes, and over draws
of noise for a feeder. **Bold** is good enough from one end of the interval to the other, by the
limit in the table. A dash: the setting cannot say it. Of ten times as many homes, a feeder's own
numbers are ten times nearer, and sums of single homes three times.
"""


HOW = """\
A bill by day and night asks 0.32 for a kilowatt-hour from 7 to 23 h and 0.20 otherwise; `bill` by
day and night is asked for both averages of a month (`queries = ["avg[07:00-23:00]",
"avg[23:00-07:00]"]`). Theft is sought in the feeder's own meter less the sum of its homes over the
month, with one false alarm in twenty honest months, and no losses of the line. The forecast is a
ridge regression on the day before and the week before. Cars are counted by the evening and the
night of a feeder of 40 homes, as learned on others. Who reads no release, and says how many homes
have one on average, is off by {cars:.2g} cars. Who takes tomorrow's hours for those of an average
day, and knows that exactly, is {tomorrow:.2g} % worse than the forecast from exact data."""


def page(command: str, results: dict[str, Any]) -> str:
    """Precondition: the results of a run, as its JSON holds them."""
    made = (
        f"Made by `{command}`: {results['homes']} simulated homes in four weeks of July, of "
        f"{results['mean_watts']:.0f} W on average, and {results['homes_with_panels']} with panels "
        "in April. Shares of a home's bill or day are of the mean home's; of one that draws half "
        "of it they are twice as large. In January, when heat pumps run, homes draw two thirds "
        f"more, and shares are smaller. A feeder has all {results['homes']} homes. Presets are "
        "looked at with readings of a minute; `bill` in a February, in which one event weighs "
        "most. The noise is drawn by the law of the mechanism."
    )
    lines = [
        *_found(results),
        READ,
        "![What each setting hides, and what it is good for](uses-map.png)",
        "",
        "## What is told",
        "",
        *_told(results),
        "",
        "## What it is good for",
        "",
        *_used(results),
        "",
        HOW.format(**results["untold"]),
        "",
        made,
        "",
    ]
    return HEAD + "\n".join(lines)


def _found(results: dict[str, Any]) -> Iterator[str]:
    """For each task, the setting that serves it and tells least, and how many do."""
    for task in results["tasks"]:
        serving = [one for one in results["settings"] if one["used"][task["name"]]["works"]]
        if not serving:
            yield f"- **{_upper(task['name'])}**: no setting of these serves it."
            continue
        best = max(serving, key=_kept)
        hidden = [name for name, one in best["told"].items() if one["kept"]]
        keeps = (
            f"which hides {_all_of(hidden)}" if hidden else "which hides none of the secrets below"
        )
        yield f"- **{_upper(task['name'])}**: {_name(best)}, {keeps}."


def _kept(setting: dict[str, Any]) -> tuple[int, float]:
    told = setting["told"].values()
    return sum(one["kept"] for one in told), -sum(one["success"] for one in told)


def _name(setting: dict[str, Any]) -> str:
    label: str = setting["label"]
    return f"{label} ({setting['words']})" if label.startswith("`") else label


def _all_of(words: list[str]) -> str:
    told = [word.partition(",")[0] for word in words]
    return " and ".join(filter(None, (", ".join(told[:-1]), told[-1])))


def _upper(words: str) -> str:
    return words[0].upper() + words[1:]


def _told(results: dict[str, Any]) -> Iterator[str]:
    names = [one["name"] for one in results["secrets"]]
    yield f"| setting | {' | '.join(names)} |"
    yield f"|---|{'---|' * len(names)}"
    for setting in results["settings"]:
        cells = [_bold(share(one["success"]), one["kept"]) for one in setting["told"].values()]
        yield f"| {_name(setting)} | {' | '.join(cells)} |"


def _used(results: dict[str, Any]) -> Iterator[str]:
    tasks = results["tasks"]
    heads = [f"{one['name']}: {one['asks']} ({_limit(one)})" for one in tasks]
    yield f"| setting | {' | '.join(heads)} |"
    yield f"|---|{'---|' * len(tasks)}"
    for setting in results["settings"]:
        cells = [
            "–" if one["number"] is None else _bold(_measured(one, task), one["works"])
            for one, task in zip(setting["used"].values(), tasks, strict=True)
        ]
        yield f"| {_name(setting)} | {' | '.join(cells)} |"


def _limit(task: dict[str, Any]) -> str:
    return f"{task['limit']} {_said(task['enough'], task)}"


def _measured(one: dict[str, Any], task: dict[str, Any]) -> str:
    return f"{_said(one['number'], task)} ({_size(one['low'])} to {_size(one['high'])})"


def _said(number: float, task: dict[str, Any]) -> str:
    return f"{_size(number)} {task['unit']}" if task["unit"] != "cars" else _size(number)


def _size(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"


def share(success: float) -> str:
    """`53.7 %`, and `0.57 %` where it is small."""
    percent = 100 * success
    return f"{percent:.2f} %" if percent < 10 else f"{percent:.1f} %"


def _bold(text: str, good: bool) -> str:  # noqa: FBT001 - of a cell
    return f"**{text}**" if good else text
