"""What was found as one page: fair comparisons, each with what is held equal."""

from collections.abc import Iterator
from typing import Any

HEAD = """# Compared with other ways, fairly

Two things can be held equal: what an attacker reaches, and what is promised. Here both are.
"""
SUCCESS = """
## Equal attack success: as near as Laplace noise

The attacker holds both versions of a home and knows everything else. For each preset, Laplace
noise on the same average was scaled so that this attacker is right as often as against ours,
exactly. What is left is the error: ours is never more than 5 % above, and it is drawn exactly,
where Laplace noise in floating point can give the answer away. No gain in accuracy is claimed over
noise of nearly the same shape: what the product adds is the exact draw, the account, and the
promise that says what it is about. Of a feeder the attacker knows every other home, so that what is
left is one home's answer, with all of the noise; a month is its shortest. What lasts longer than a
window moves several answers, which count together.

| preset | event | right | ours, W | Laplace, W | times |
|---|---|---|---|---|---|
"""
PROMISE = """
## Equal promise: one draw for all, and losses that add up

Each home is promised a loss of 1 for a whole day, in which 96 quarter hours are told; their losses
add up. Standard differential privacy hides whatever a home draws, from nothing to 24 kW; d∞ hides
versions of the home that differ by up to a radius in every reading, which is a smaller promise, and
the one to choose by what is to be hidden. Composed as zero-concentrated privacy, Gaussian noise is
smaller, but with a chance of 1e-6 the promise does not hold. Errors of a quarter hour, in shares of
the load of homes of 400 W; above 100 %, a release says less than the usual load.

"""
ONE_DRAW = """
At the same promise to each home, whatever it is, one draw for a feeder is nearer than the sum of
what homes release by themselves, by the root of their number: at least ten times from {least} homes
on. (`python -m simulations.feeder` has the same from the program, on simulated homes.)

"""
SPENDING = """
## Spending that follows the readings: why not

BD and BA (Kellaris et al., 2014) spend on a new answer only when something changed, and half of the
loss on asking whether it did. Mean errors of a quarter hour of single homes, in watts, where all
answers of a day lose 1 at the radius; beside an even split, and one longer window that is held. In
brackets: 95 % intervals over homes.

| radius | even split | BD | BA | one longer window | its hours | nothing: the mean of homes |
|---|---|---|---|---|---|---|
"""
FREE = """
## What a reader takes off for free

A reader may do with releases whatever they like: no privacy is lost by it. Quarter hours of the
same homes, as they are released; as the best guess of somebody who knows the loads of other homes
(`remap`); and smoothed by nothing but the home's own releases. Beside it, how much is left of the
error of a day's mean, which `unbiased` adds up to. **Do not add up what was guessed**: up to
{most} W of noise a day is further off by it, and only where noise drowns the load is it better to
believe in other homes. What was smoothed is as good as `unbiased` for a day, and no better until
then. In brackets: 95 % intervals over homes.

| noise | as released, W | best guess leaves | of a day's | smoothing leaves | of a day's |
|---|---|---|---|---|---|
"""
ORDER = """
Several answers about one window agree with their order, which the program sees to by itself: the
least is no more than the median. Mean errors of a home's answers, each with a draw of its own, and
what is taken off, with its 95 % interval over windows:

| answers | as drawn, W | in order, W | less |
|---|---|---|---|
"""
ON_RECORDINGS = """
On recordings of homes, order takes off 8 to 24 %, and 8 to 29 % where one draw is for all answers
(`python -m simulations.noise`).
"""


def page(command: str, results: dict[str, Any]) -> str:
    """Precondition: the results of a run, as its JSON holds them."""
    made = (
        f"\nMade by `{command}`, with homes of four weeks: {results['adaptive']['homes']} for "
        f"spending, {results['free']['homes']} for what is free, of which all others are known."
    )
    ways = results["equal_promise"]
    sizes = [*ways[0]["errors"]]
    table = [f"| way | {' | '.join(_homes(int(size)) for size in sizes)} |", "|---|"]
    table[1] += "---|" * len(sizes)
    table += [_way(way) for way in ways]
    lines = [
        HEAD,
        SUCCESS.rstrip("\n"),
        *map(_equal, results["equal_success"]),
        PROMISE + "\n".join(table),
        *_one_draw(results["one_draw"]),
        "\n![One promise, by other means](compare-promise.png)",
        SPENDING.rstrip("\n"),
        *_spent(results["adaptive"]["errors"]),
        *_free(results["free"]["quarter_hours"]),
        ORDER.rstrip("\n"),
        *_order(results["free"]["order"]),
        ON_RECORDINGS.rstrip("\n"),
        made,
        "",
    ]
    return "\n".join(lines)


def _homes(size: int) -> str:
    return "one home" if size == 1 else f"{size:,} homes"


def _equal(one: dict[str, Any]) -> str:
    cells = (
        f"`{one['preset']}`",
        one["event"],
        f"{100 * one['success']:.1f} %",
        _watts(one["agent_watts"]),
        _watts(one["laplace_watts"]),
        f"{one['times']:.3f}",
    )
    return f"| {' | '.join(cells)} |"


def _watts(watts: float) -> str:
    return f"{watts:,.0f}" if watts >= 1000 else f"{watts:.3g}"


def _way(way: dict[str, Any]) -> str:
    cells = (_plain(100 * error) for error in way["errors"].values())
    return f"| {way['way']} | {' | '.join(cells)} |"


def _plain(percent: float) -> str:
    return f"{percent:,.0f} %" if percent >= 100 else f"{percent:.2g} %"


def _spent(errors: dict[str, Any]) -> Iterator[str]:
    order = ("even split", "BD", "BA", "one longer window", "its hours", "nothing: their mean")
    for radius, ways in errors.items():
        cells = (_mean(ways[name]) if name != "its hours" else f"{ways[name]:g}" for name in order)
        yield f"| {radius} W | {' | '.join(cells)} |"


def _mean(found: dict[str, float]) -> str:
    return f"{found['mean']:,.0f} ({found['low']:,.0f} to {found['high']:,.0f})"


def _one_draw(found: dict[str, Any]) -> Iterator[str]:
    yield ONE_DRAW.format(least=found["homes_for_ten"]).rstrip("\n")
    yield ""
    yield f"| homes | {' | '.join(f'{int(size):,}' for size in found['times'])} |"
    yield f"|---|{'---|' * len(found['times'])}"
    yield f"| times nearer | {' | '.join(f'{times:.3g}' for times in found['times'].values())} |"


def _free(by_noise: dict[str, Any]) -> Iterator[str]:
    worse = (int(watts) for watts, one in by_noise.items() if one["days_guess"]["low"] > 1)
    yield FREE.format(most=max(worse, default=0)).rstrip("\n")
    for watts, one in by_noise.items():
        shares = (_left(one[name]) for name in ("guess", "days_guess", "smooth", "days_smooth"))
        yield f"| {int(watts):,} W | {_mean(one['error'])} | {' | '.join(shares)} |"


def _left(found: dict[str, float]) -> str:
    share, low, high = (100 * found[name] for name in ("share", "low", "high"))
    return f"{share:.0f} % ({low:.0f} to {high:.0f})"


def _order(by_setting: dict[str, Any]) -> Iterator[str]:
    for words, one in by_setting.items():
        low, high = (100 * end for end in one["between"]["gain"])
        gain = f"{100 * one['gain']:.0f} % ({low:.0f} to {high:.0f})"
        yield f"| {words} | {one['drawn']:,.0f} | {one['in_order']:,.0f} | {gain} |"
