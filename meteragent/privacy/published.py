"""Policies from the documents in which they were published."""

from decimal import Decimal
from functools import partial
from typing import Any

from meteragent.privacy.calendar import lengths_of
from meteragent.privacy.domain import Domain
from meteragent.privacy.exact import nano
from meteragent.privacy.group import GroupPolicy, PerHome
from meteragent.privacy.policy import Policy
from meteragent.privacy.query import query
from meteragent.privacy.question import Question
from meteragent.privacy.terms import JOINT
from meteragent.privacy.tier import Tier

_DOMAIN = ("minimum", "maximum", "step", "resolution", "unit")
_TIMES = ("interval", "grace", "idle", "horizon")


def policy_of(document: dict[str, Any]) -> Policy:
    """The policy, of meters or of groups, that was published so: the inverse of `document`."""
    losses = {name: nano("epsilon", epsilon) for name, epsilon in document["epsilon_per_watt"]}
    make = partial(GroupPolicy, homes=_homes(document["homes"])) if "homes" in document else Policy
    return make(
        domain=Domain(**{name: document[name] for name in _DOMAIN if name in document}),
        questions=tuple(
            Question(query(name), losses.get(JOINT) or losses[name])
            for name in document.get("queries", losses)
        ),
        noise=document.get("noise", "independent"),
        budget=nano("budget", document["budget_per_watt"]),
        min_coverage=Decimal(document["min_coverage"]),
        presence=document["presence"],
        on_exhausted=document["on_exhausted"],
        readings=document.get("readings", "classes"),
        fill_limit=document.get("fill_limit_ms", 0),
        tier=_tier(document["tier"]) if "tier" in document else None,
        **lengths_of(document),
        **{name: document[f"{name}_ms"] for name in _TIMES},
    )


def _homes(said: dict[str, Any]) -> PerHome:
    low, high = Decimal(said["minimum"]), Decimal(said["maximum"])
    return PerHome(low, high, said["interval_ms"], said["least"])


def _tier(said: dict[str, Any]) -> Tier:
    above = (tuple(nano("epsilon", one) for one in losses) for losses in said["above"])
    return Tier(said["name"], tuple(above))
