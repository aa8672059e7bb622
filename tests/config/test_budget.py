"""The account of a meter, and the shares that its policies have of it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meteragent.config import Config, from_document
from meteragent.errors import ConfigRefused

if TYPE_CHECKING:
    from decimal import Decimal

PLAIN = {"window": "15m", "interval": "1m", "maximum": "24kW", "epsilon": "1"}


def config(budget: dict[str, Any] | None, *policies: dict[str, Any]) -> Config:
    tables = [PLAIN | {"name": f"p{at}"} | table for at, table in enumerate(policies)]
    document: dict[str, Any] = {"policy": tables}
    if budget is not None:
        document["budget"] = budget
    return from_document(document, Path(), {})


def refused(budget: dict[str, Any] | None, *policies: dict[str, Any]) -> list[str]:
    with pytest.raises(ConfigRefused) as error:
        config(budget, *policies)
    return [str(problem) for problem in error.value.problems]


FIVE = {"amount": "5", "horizon": "1h"}


def test_policies_of_the_same_meters_share_one_account() -> None:
    told = config(FIVE, {"share": "3"}, {"share": "2", "queries": ["p95"], "output": "research"})
    assert [(one.prefix, one.name, one.policy.budget) for one in told.assigned] == [
        ("", "p0", 30_000_000),
        ("", "p1", 20_000_000),
    ]
    assert {one.policy.horizon for one in told.assigned} == {3_600_000}
    assert told.outputs == {"p0": "meter.sanitized", "p1": "research"}
    assert told.kafka.outputs == ("meter.sanitized", "research")
    assert {"meter.sanitized", "research"} <= told.kafka.names


def test_shares_are_of_the_accounts_radius_and_losses_of_the_policys() -> None:
    told = config(
        FIVE | {"radius": "30W"},
        {"share": "3", "radius": "17W"},
        {"share": "2"},
    )
    assert [one.policy.budget for one in told.assigned] == [10**9 * 3 // 30, 10**9 * 2 // 30]
    assert told.assigned[0].policy.questions[0].nano == 10**9 // 17
    assert told.policy[0].guarantee.policy == told.assigned[0].policy


def test_a_policy_that_is_alone_has_all_of_the_account_unless_it_says_how_much() -> None:
    told = config(FIVE, {"match": "a"}, {"match": "b", "share": "4"}, {"match": "c", "share": "5"})
    assert [one.policy.budget for one in told.assigned] == [50_000_000, 40_000_000, 50_000_000]


def test_a_preset_leaves_its_budget_to_the_account() -> None:
    hidden = {"name": "tv", "preset": "tv-content", "share": "4"}
    told = from_document(
        {
            "budget": FIVE | {"horizon": "3d", "radius": "25W"},
            "policy": [hidden, PLAIN | {"name": "x", "share": "1"}],
        },
        Path(),
        {},
    )
    assert [one.policy.budget for one in told.assigned] == [160_000_000, 40_000_000]
    assert {one.policy.horizon for one in told.assigned} == {3 * 86_400_000}


@given(
    shares=st.lists(st.decimals("0.02", "9", places=2), min_size=1, max_size=4),
    amount=st.decimals("0.02", "20", places=2),
    radius=st.sampled_from(["100W", "30W", "7W"]),
)
def test_shares_add_up_to_no_more_than_the_amount(
    shares: list[Decimal], amount: Decimal, radius: str
) -> None:
    tables = [
        {"share": share, "epsilon": f"0.01{at}", "radius": "100W"}
        for at, share in enumerate(shares)
    ]
    watts = Fraction(radius.removesuffix("W"))
    fits = sum(int(Fraction(share) * 10**9 / watts) for share in shares) <= int(
        Fraction(amount) * 10**9 / watts
    )
    account = {"amount": amount, "radius": radius}
    if fits:
        told = config(account, *tables)
        assert sum(p.budget for p in told.policies) <= int(Fraction(amount) * 10**9 / watts)
    else:
        [problem] = refused(account, *tables)
        assert problem.startswith("budget.amount: is less than the shares")


@pytest.mark.parametrize(
    ("budget", "policies", "problems"),
    [
        (
            FIVE,
            [{"share": "3"}, {"share": "2.5"}],
            ['budget.amount: is less than the shares of meters "" together; write "5.5", or sm'],
        ),
        (
            FIVE,
            [{"share": "3"}, {}],
            ["policy[1].share: is missing beside other policies of these meters; write for exa"],
        ),
        (
            FIVE,
            [{"share": "0.5"}],
            ['policy[0].share: does not cover one window; write at least "1"'],
        ),
        (
            FIVE | {"radius": "500W"},
            [{"share": "3"}, {"share": "2", "queries": ["reading"]}],
            [
                'policy[0].share: does not cover one window; write at least "5"',
                'policy[1].share: does not cover one window; write at least "75"',
            ],
        ),
        (
            FIVE,
            [{"budget": "5"}, {"horizon": "1h"}],
            [
                "policy[0].budget: is set by the [budget]; write a share instead",
                "policy[1].horizon: is set by the [budget]; write a share instead",
            ],
        ),
        (
            None,
            [{"share": "3"}],
            ['policy[0].budget: is missing; write for example "24"'],
        ),
        (
            None,
            [{"share": "3", "budget": "3"}],
            ["policy[0].share: is set without a [budget]; leave it out"],
        ),
        (None, [{}], ['policy[0].budget: is missing; write for example "24"']),
        (
            None,
            [{"budget": "5"}, {"budget": "5"}],
            ["policy[1].match: is that of policy[0] too; write another one, or a [budget]"],
        ),
        (
            FIVE,
            [{"share": "2", "presence": "private"} | more for more in ({}, {"grace": "1h"})],
            ["policy[1].queries: asks what policy[0] asks of the same windows; let one release"],
        ),
        ({}, [{"share": "1"}], ['budget.amount: is missing; write for example "24"']),
        (
            FIVE,
            [{"share": "1", "output": "meter.ledger"}],
            ["policy[0].output: is the topic of another stream; write another one"],
        ),
        (
            FIVE,
            [{"share": "1", "output": "a b"}],
            ["policy[0].output: is not a topic's name; write"],
        ),
        (
            {"amount": "70"},
            [{"share": "1"}] * 65,
            ['policy: has more than 64 for meters ""; leave some out'],
        ),
    ],
)
def test_what_makes_no_account_is_refused(
    budget: dict[str, Any] | None, policies: list[dict[str, Any]], problems: list[str]
) -> None:
    found = refused(budget, *policies)
    assert len(found) == len(problems)
    assert all(a.startswith(b) for a, b in zip(found, problems, strict=True)), found


def test_an_account_of_no_sense_is_told_beside_other_problems() -> None:
    with pytest.raises(ConfigRefused) as error:
        from_document({"budget": 3, "policy": "x"}, Path(), {})
    assert [problem.field for problem in error.value.problems] == ["budget", "policy"]


def test_what_policies_of_the_same_meters_tell_together_is_said_of_each() -> None:
    """Two averages of 15 min at epsilon 1, shares of 3 and 2 for an hour; at 100 W."""
    research = {"name": "research", "share": "2", "queries": ["median"]}
    tables = ({"name": "grid", "share": "3"}, research, {"match": "x"})
    grid, other, alone = (policy.guarantee for policy in config(FIVE, *tables).policy)
    told = grid.promised()
    assert told.beside == ("research",)
    assert told.together_one_horizon.log_odds == 5
    assert told.together_any_horizon.log_odds == 3 + 1 + 2 + 1
    assert "The same account pays for research: all releases of these meters together" in grid.words
    assert "by at most x149, and those of any other 1 h by at most x1,100." in grid.words
    assert other.promised().together_one_horizon == told.together_one_horizon
    assert "account" not in alone.words
    assert alone.promised().together_any_horizon == alone.promised().any_horizon
