"""The `[budget]` table: the account of each meter, and what its policies have of it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, TypeVar

from meteragent.config.amount import LEFT_TO_THE_ACCOUNT
from meteragent.config.fields import BadSetting, Exact, Power, Settings, SomeTime, setting
from meteragent.config.policy import PolicySettings
from meteragent.errors import InvalidSetting
from meteragent.privacy.exact import epsilon_at
from meteragent.privacy.ledger_record import MOST_RINGS
from meteragent.privacy.question import per_watt
from meteragent.privacy.units import Measured

_SAID_ONCE = ("budget", "horizon")
Table = TypeVar("Table", bound=PolicySettings)


class Budget(Settings):
    """What all policies of a meter together may lose, where it has several.

    Each policy spends its own `share` of `amount`, and nothing else. So none starves another, and
    what one withholds says nothing about what another found. Without this table, each meter has
    one policy, with a budget and a horizon of its own.
    """

    quantity: Measured = setting(
        "What is measured, as its policies say it.", '"flow"', default="power"
    )
    radius: Power = setting(
        "The difference in every reading that `amount` and shares are for.",
        '"100W"',
        default="100W",
    )
    horizon: SomeTime = setting("The stretch of time that `amount` is for.", '"24h"', default="24h")
    amount: Exact = setting("The most that all answers of one `horizon` may lose.", '"24"')
    groups: Exact | None = setting(
        "What each meter reserves of `amount` for groups, whether or not it is in any. What all "
        "its groups may spend must fit into this at any time, or the meter joins no further one. "
        "Needed where there is a `[[group]]`.",
        '"1"',
        default=None,
    )

    @property
    def nano(self) -> int:
        """The amount, in nano-units per watt."""
        return per_watt("amount", self.amount, self.radius)

    @property
    def reserved(self) -> int:
        """What is reserved of it for groups."""
        return 0 if self.groups is None else per_watt("groups", self.groups, self.radius)


def left_to_the_account(document: dict[str, Any]) -> dict[str, Any]:
    """The same, with policies that leave budget and horizon to the `[budget]`, if there is one.

    BadSetting: one of them says it again. What makes no sense is left for those who judge it.
    """
    if isinstance(document.get("budget"), dict):
        document = {**document}
        for kind in ("policy", "group"):
            if isinstance(tables := document.get(kind), list | tuple):
                document[kind] = _left(kind, tables)
    return document


def _left(kind: str, tables: Sequence[object]) -> list[object]:
    twice = [
        InvalidSetting(f"{kind}[{at}].{name}", "is set by the [budget]", "write a share instead")
        for at, policy in enumerate(tables)
        for name in _SAID_ONCE
        if isinstance(policy, dict) and name in policy
    ]
    if twice:
        raise BadSetting(twice)
    left = {"budget": LEFT_TO_THE_ACCOUNT}
    return [one | left if isinstance(one, dict) else one for one in tables]


def shared_out(budget: Budget, policies: Sequence[PolicySettings]) -> tuple[PolicySettings, ...]:
    """The policies, each with its share. BadSetting: everything that is wrong with shares."""
    resolved = with_shares(budget, policies, budget.amount)
    if found := [*_too_much(budget, resolved)] or [*_asking_twice(resolved)]:
        raise BadSetting(found)
    for policy in resolved:
        its = [other for other in resolved if other.match == policy.match and other is not policy]
        policy.stand_beside(its)
    return tuple(resolved)


def with_shares(
    budget: Budget, policies: Sequence[Table], amount: Decimal, kind: str = "policy"
) -> list[Table]:
    """Each with its share of the amount. BadSetting: what is wrong with one of them."""
    counts = Counter(policy.match for policy in policies)
    found, resolved = [], []
    for at, policy in enumerate(policies):
        try:
            share = _share(budget, policy, amount if counts[policy.match] == 1 else None)
            resolved.append(policy.with_share(share, radius=budget.radius, horizon=budget.horizon))
        except InvalidSetting as error:
            field = f"{kind}[{at}].{error.field}"
            found.append(InvalidSetting(field, error.problem, error.instead))
    if found:
        raise BadSetting(found)
    return resolved


def _share(budget: Budget, policy: PolicySettings, alone: Decimal | None) -> int:
    """Of a policy, in nano-units per watt; one that is alone has all, unless it says how much."""
    if policy.quantity != budget.quantity:
        raise InvalidSetting("quantity", "is not that of the [budget]", "write the same for both")
    share = alone if policy.share is None else policy.share
    if share is None:
        raise InvalidSetting(
            "share", "is missing beside other policies of these meters", 'write for example "1"'
        )
    return per_watt("share", share, budget.radius)


def _asking_twice(policies: Sequence[PolicySettings]) -> Iterator[InvalidSetting]:
    """Policies that would answer the same of the same windows, where presence is private.

    Their noise is the same if nothing came in between: that answers are equal would tell of it.
    """
    first: dict[tuple[str, bytes], int] = {}
    private = [(at, p) for at, p in enumerate(policies) if p.presence == "private"]
    for at, policy in private:
        before = first.setdefault((policy.match, policy.policy.digest), at)
        if before != at:
            yield InvalidSetting(
                f"policy[{at}].queries",
                f"asks what policy[{before}] asks of the same windows",
                "let one release serve both",
            )


def _too_much(budget: Budget, policies: Sequence[PolicySettings]) -> Iterator[InvalidSetting]:
    for match in dict.fromkeys(policy.match for policy in policies):
        its = [policy for policy in policies if policy.match == match]
        asked = sum(policy.policy.budget for policy in its) + budget.reserved
        if asked > budget.nano:
            enough = epsilon_at(asked, budget.radius).normalize()
            yield InvalidSetting(
                "budget.amount",
                f'is less than the shares of meters "{match}" together',
                f'write "{enough:f}", or smaller shares',
            )
        if len(its) > MOST_RINGS:
            yield InvalidSetting(
                "policy", f'has more than {MOST_RINGS} for meters "{match}"', "leave some out"
            )
