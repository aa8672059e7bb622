"""What was chosen, as TOML: a policy with its evidence, and the presets of the configuration."""

from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Decimal
from typing import Any

from simulations.choose.search import Trial
from simulations.kit.yardstick import Verdict

HEAD = """\
# What people want to hide -> what is released, and at what price: the presets of a policy.
#
#   meteragent explain --preset tv-content    what it protects, and why these numbers
#   python -m simulations.choose --write-presets    writes this file anew from its results
#
# `policy` holds settings of [[policy]], or of [[group]] where a preset is of groups, as they would
# be written there; whatever a table sets itself wins. `evidence` is how often the best attacker is
# right about a home under these very settings: worked out from the law of the noise, for one
# event, a week and four weeks. Everything is a text, so that it is quoted exactly as it is written.
"""

FEW = 5
"""Watts below which their tenths matter."""

WHY = {
    "tv-content": """\
What tells films apart is how bright they are, from second to second and on the whole. An evening
moves the average of a long window by a few watts at most, so that noise of about as many watts
covers it; shorter windows would need noise of some hundred watts for the same.""",
    "appliances": """\
An appliance moves an average by its energy, spread over the window: the longer the window, the
less noise covers it. A street's worth of homes still adds up.""",
    "presence": """\
A day at home and a day away differ in every hour and by much energy: to hide which of the two it
was takes more noise than a home draws. A release then says little about one home; sums over many
homes are what it is good for. Absent readings are hidden too.""",
    "bill": """\
A month is one answer. One use of something small moves it by its energy, spread over 28 days and
more, and noise of 1.3 W, which is 0.9 to 1 kWh of a month, covers that; a home of 400 W is still
billed to 1 % in 95 of 100 months. The radius, 2 W in every reading, is 1.3 to 1.5 kWh of a month.
What takes more than that is told, and so is what is done every day. Set your own `timezone`.""",
    "feeder": """\
Readers of a feeder's half hour may know all its homes but one: what is told of that one does not
depend on how many there are, and one draw is for all of them. A use of something small moves half
an hour by its energy, and noise of some eight times as much covers it: of 200 homes that is two
percent of the load, of 1,000 less than half of one. Larger loads are told, and so are habits.""",
    "feeder-15m": """\
The same of quarter hours, in which a use weighs twice as much, and takes twice the noise: of 200
homes that is less than five percent of the load, of 1,000 less than one.""",
}


def preset(
    hide: str, hides: str, found: Trial, habits: Sequence[Verdict], source: str
) -> dict[str, Any]:
    """One preset, in the shape of `presets.toml`."""
    worst, policy = found.worst, found.candidate
    week, month = (max(some, key=lambda one: one.success) for some in (habits[::2], habits[1::2]))
    return {
        "hides": hides,
        "why": WHY[hide],
        "policy": policy.settings,
        "evidence": {
            "attack": worst.attack,
            "goal": worst.goal,
            "contest": worst.contest,
            "success": _share(worst.success, ROUND_CEILING),
            "most": _share(worst.most, ROUND_CEILING),
            "chance": _share(worst.chance, ROUND_HALF_EVEN),
            "habit": f"{week.contest}; {month.contest}",
            "week": _share(week.success, ROUND_CEILING),
            "weeks": _share(month.success, ROUND_CEILING),
            "guessed": _share(week.chance, ROUND_HALF_EVEN),
            "error": f"{_watts(policy.error)}W",
            "source": source,
        },
    }


def policy_toml(settings: Mapping[str, Any], table: str = "policy") -> str:
    """The settings as `[[policy]]`, or another table."""
    return "\n".join([f"[[{table}]]", 'name = "chosen"', *_lines(settings)])


def presets_toml(presets: Mapping[str, Mapping[str, Any]]) -> str:
    """The whole file of presets."""
    return "\n".join([HEAD, *(_preset(name, one) for name, one in presets.items())])


def _preset(name: str, one: Mapping[str, Any]) -> str:
    why = one["why"].replace("\n", " \\\n")
    return "\n".join(
        [
            f"[{name}]",
            *([f"of = {_value(one['of'])}"] if "of" in one else []),
            f"hides = {_value(one['hides'])}",
            f'why = """\\\n{why}"""',
            f"\n[{name}.policy]",
            *_lines(one["policy"]),
            f"\n[{name}.evidence]",
            *_lines(one["evidence"]),
            "",
        ]
    )


def _lines(settings: Mapping[str, Any]) -> list[str]:
    return [f"{name} = {_value(value)}" for name, value in settings.items()]


def _value(value: str | Sequence[str]) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    return f"[{', '.join(map(_value, value))}]"


def _watts(error: float) -> Decimal:
    """In whole watts, or in tenths where it is but a few."""
    return Decimal(error).quantize(Decimal(1) if error >= FEW else Decimal("0.1"))


def _share(share: float, rounding: str) -> str:
    """Four decimal places, rounded away from the claim."""
    exact = Decimal(repr(round(float(share), 9)))
    return f"{exact.quantize(Decimal('0.0001'), rounding).normalize():f}"
