"""What was found as one page, for a reviewer."""

from typing import Any

from simulations.claims.agreement import between
from simulations.uses.page import share

HEAD = """# What is claimed, tried

How often the best attacker is right is worked out from the law of the noise, and depends on no
number of trials. Here it is held against trials through the program itself, and the limits of the
presets against homes, films and recordings that they were not chosen by.
"""
TRIED = """
## Worked out, and tried

Trials are independent, each with a chance of its own. Their share is as far from its mean as a
divergence of *d* with a chance of at most 2 exp(-*n d*) (Hoeffding, 1963): all contests of this
table together are wrongly rejected at most once in a thousand times. A *bound* may not be
exceeded; everything else has to be met from both sides, and whatever lies outside of what *would
agree* is noticed.

Months are those of the calendar, one after the other of a year; films are looked at in February,
where they weigh most. Of a feeder one home is in question, which releases go through the program of
groups, and the attacker knows the nine others.
"""
FRESH = """
## On traces that nobody tuned them to

Presets were chosen on the homes and films of one seed so that one event is told in at most 4 points
more cases than by guessing, and at most seven times where guessing is six. The same contests on
other seeds, the worst of them shown, and on recordings:

| preset | contest | on | worst | mean | guessing | limit | kept |
|---|---|---|---|---|---|---|---|
"""


def page(command: str, results: dict[str, Any]) -> str:
    """Precondition: the results of a run, as its JSON holds them."""
    tried, fresh = results["tried"], results["fresh"]
    agree = sum(one["agrees"] for one in tried)
    kept = [one for one in fresh if one["kept"]]
    lines = [
        HEAD + TRIED,
        f"{agree} of {len(tried)} agree.",
        "",
        "| preset | contest | worked out | tried | trials | would agree | agrees |",
        "|---|---|---|---|---|---|---|",
        *(_tried(one, len(tried)) for one in tried),
        "",
        "![What is worked out is what trials show](claims-tried.png)",
        FRESH.rstrip("\n"),
        *map(_fresh, fresh),
        "",
        f"{len(kept)} of {len(fresh)} are kept. {_exceeded(fresh)}",
        "",
        f"Made by `{command}`.",
        "",
    ]
    return "\n".join(lines)


def _tried(one: dict[str, Any], contests: int) -> str:
    low, high = between(one["told"], one["trials"], contests)
    cells = (
        f"`{one['preset']}`",
        one["contest"],
        share(one["told"]) + ("" if one["exact"] else " (bound)"),
        share(one["seen"]),
        f"{one['trials']:,}",
        f"{share(low)} to {share(high)}" if one["exact"] else f"up to {share(high)}",
        _yes(one["agrees"]),
    )
    return f"| {' | '.join(cells)} |"


def _fresh(one: dict[str, Any]) -> str:
    shares = (share(one[name]) for name in ("worst", "mean", "chance", "limit"))
    cells = (f"`{one['preset']}`", one["contest"], one["of"], *shares, _yes(one["kept"]))
    return f"| {' | '.join(cells)} |"


def _yes(is_so: object) -> str:
    return "yes" if is_so else "**no**"


def _exceeded(fresh: list[dict[str, Any]]) -> str:
    """What is not kept, and by how much."""
    over = [one for one in fresh if not one["kept"]]
    if not over:
        return "No limit is exceeded."
    told = "; ".join(
        f"{one['contest']} under `{one['preset']}` by up to {_points(one)} points" for one in over
    )
    return (
        f"Exceeded: {told}. A limit is of the mean over many homes, and homes differ: those whose "
        "sets draw more are told more often."
    )


def _points(one: dict[str, Any]) -> str:
    return f"{100 * (one['worst'] - one['limit']):.2f}"
