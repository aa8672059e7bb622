"""What was chosen, as TOML: a policy with its evidence, and the presets of the configuration."""

from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from typing import Any

from simulations.choose.search import Trial

HEAD = """\
# What people want to hide -> what is released, and at what price: the presets of a policy.
#
#   meteragent explain --preset tv-content    what it protects, and why these numbers
#   python -m simulations.choose --write-presets    writes this file anew from its results
#
# `policy` holds settings of [[policy]], as they would be written there; whatever a policy sets
# itself wins. `evidence` is what the best attacker that was simulated made of a home under these
# very settings. Everything is a text, so that it is quoted exactly as it is written.
"""

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
}


def preset(hide: str, hides: str, found: Trial, source: str) -> dict[str, Any]:
    """One preset, in the shape of `presets.toml`."""
    worst, policy = found.worst, found.candidate
    return {
        "hides": hides,
        "why": WHY[hide],
        "policy": policy.settings,
        "evidence": {
            "attack": worst.attack,
            "goal": worst.goal,
            "success": _share(worst.success.value, ROUND_HALF_EVEN),
            "low": _share(worst.success.low, ROUND_FLOOR),
            "high": _share(worst.success.high, ROUND_CEILING),
            "chance": _share(worst.chance, ROUND_HALF_EVEN),
            "error": f"{Decimal(policy.error).quantize(Decimal(1))}W",
            "source": source,
        },
    }


def policy_toml(settings: Mapping[str, Any]) -> str:
    """The settings as `[[policy]]`."""
    return "\n".join(["[[policy]]", 'name = "chosen"', *_lines(settings)])


def presets_toml(presets: Mapping[str, Mapping[str, Any]]) -> str:
    """The whole file of presets."""
    return "\n".join([HEAD, *(_preset(name, one) for name, one in presets.items())])


def _preset(name: str, one: Mapping[str, Any]) -> str:
    why = one["why"].replace("\n", " \\\n")
    return "\n".join(
        [
            f"[{name}]",
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


def _share(share: float, rounding: str) -> str:
    """Four decimal places, rounded away from the claim."""
    return f"{Decimal(share).quantize(Decimal('0.0001'), rounding).normalize():f}"
