"""What was found as one page, for somebody who publishes such sums."""

from typing import Any

HEAD = """# What is done today, attacked

Loads of feeders, streets and tariffs are published today as exact sums, if there are enough homes
in them: five, or fifteen of which none has more than 15 % of the sum, or a hundred. Or they are
rounded. None of this says what an attacker may learn, and all of it falls to one subtraction: a
sum with a home less the same sum without it *is* that home. Two such sums are published

- where a home is in two groups: of a feeder and of a street, of a tariff and of a district;
- where it alone has something: the sum of all homes, and that of those without a heat pump;
- nearly so where somebody moves in or out: the sums of the weeks before and after.

Noise under a promise to each home is not undone by that: each sum is drawn by itself, and nobody
learns more than was promised, however many sums of others they hold.
"""
COLUMNS = (
    "published",
    "homes",
    "both sums published",
    "a half hour of the home, off by",
    "its week, off by",
    "right about a day away",
    "the group's quarter hour, off by",
)


def page(command: str, results: dict[str, Any]) -> str:
    """Precondition: the results of a run, as its JSON holds them."""
    made = (
        f"Made by `{command}`: {results['homes']} simulated homes of {results['mean_watts']:.0f} W "
        f"on average, {results['days']} days of July. Guessing whether anybody was in is right in "
        "50 %; how often the attacker is right who sees noise is worked out from its law, for each "
        "day of each home, and that attacker knows all else."
    )
    moved = ", ".join(
        f"{100 * off:.0f} % among {size} homes" for size, off in results["moved_in"].items()
    )
    behind = (
        "Half hours and weeks are in shares of a home's mean load. All are means over homes or "
        "groups, with 95 % intervals in brackets where these differ. Where somebody moves in, the "
        "sums of two weeks before and after tell their mean load, in half of all cases, to "
        f"within {moved}: exact sums have no other protection than that others live on."
    )
    lines = [
        HEAD,
        made,
        "",
        f"| {' | '.join(COLUMNS)} |",
        f"|{'---|' * len(COLUMNS)}",
        *map(_row, results["rows"]),
        "",
        behind,
        "",
        "![One sum less another is a home](practice-differencing.png)",
        "",
    ]
    return "\n".join(lines)


def _row(row: dict[str, Any]) -> str:
    noise = row["name"].startswith("noise")
    cells = (
        f"the sum with {row['name']}" if noise else row["meaning"],
        f"{row['homes']:,}",
        _percent(row["published"]),
        *(_sure(row[name]) for name in ("half_hours", "week", "away", "error")),
    )
    return f"| {' | '.join(cells)} |"


def _sure(found: dict[str, float] | None) -> str:
    """A mean over homes, and its interval, where homes differ."""
    if found is None:
        return "–"
    if found["low"] == found["high"]:
        return _percent(found["mean"])
    return f"{_percent(found['mean'])} ({_size(found['low'])} to {_size(found['high'])})"


def _percent(share: float) -> str:
    return f"{_size(share)} %"


def _size(share: float) -> str:
    return f"{100 * share:,.0f}" if share > 1 else f"{100 * share:.3g}"
