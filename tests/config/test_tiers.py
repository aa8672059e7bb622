"""The `[[policy.tier]]` tables."""

from __future__ import annotations

from typing import Any

import pytest

from meteragent import policies, policy
from meteragent.config.works import Work, works
from meteragent.errors import ConfigRefused
from tests.config.test_group import ALONE, HOME, config, refused

RESEARCH = {"name": "research", "epsilon": "0.5"}
PUBLIC = {"name": "public", "epsilon": "0.1"}
OPEN = PUBLIC | {"output": "open.data"}
PAID = HOME | {"budget": "24"}


def with_tiers(*tiers: dict[str, Any], **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - settings
    return PAID | {"tier": [*tiers]} | changes


def test_a_tier_is_a_policy_of_its_own_that_nobody_pays_for() -> None:
    plain = config(policy=[PAID])
    told = config(policy=[with_tiers(RESEARCH, PUBLIC)])
    [one] = told.assigned
    assert one.policy == plain.policies[0]
    assert [(tier.prefix, tier.name) for tier in told.tiers] == [
        ("", "homes/research"),
        ("", "homes/public"),
    ]
    assert told.policies == (one.policy, *one.tiers)
    assert one.share.terms == plain.assigned[0].share.terms
    assert [str(tier.questions[0].epsilon) for tier in one.tiers] == ["0.005", "0.001"]
    assert [tier.budget * 100 for tier in one.tiers] == [12 * 10**9, 24 * 10**8]


def test_each_tier_has_a_topic_of_its_own() -> None:
    told = config(policy=[with_tiers(RESEARCH, PUBLIC | {"output": "open.data"})])
    assert told.outputs == {
        "homes": "meter.sanitized",
        "homes/research": "meter.sanitized.research",
        "homes/public": "open.data",
    }
    assert told.kafka.outputs == ("meter.sanitized", "meter.sanitized.research", "open.data")


def test_shares_of_an_account_have_tiers_too() -> None:
    told = config(
        budget={"amount": "24"},
        policy=[HOME | {"share": "12", "tier": [RESEARCH]}, HOME | {"name": "b", "share": "12"}],
    )
    [tier] = told.tiers
    assert tier.policy.budget * 100 == 6 * 10**9


def test_groups_have_tiers() -> None:
    told = config(group=[ALONE | {"tier": [RESEARCH]}])
    [group] = told.groups
    assert [type(tier) for tier in group.tiers] == [type(group.policy)]
    assert told.tiers == ()  # of meters


@pytest.mark.parametrize(
    ("tiers", "says"),
    [
        ([PUBLIC, RESEARCH], "tier[1].epsilon: is no smaller than that of every answer"),
        ([RESEARCH | {"epsilon": "1"}], "tier[0].epsilon: is no smaller than that of every answer"),
        ([RESEARCH | {"epsilon": "0.00001"}], "tier[0].epsilon: lets noise go farther than 100000"),
        ([RESEARCH | {"epsilon": "0"}], "tier[0].epsilon: "),
        ([RESEARCH | {"name": "a/b"}], "tier[0].name: is not a tier's name"),
        ([RESEARCH, PUBLIC | {"name": "research"}], "tier[1].name: is that of tier[0] too"),
        ([RESEARCH | {"topic": "x"}], "tier[0].topic: is not a setting"),
        ([{"name": "research"}], "tier[0].epsilon: is missing"),
        (RESEARCH, "tier: is not a list of tables"),
        ([RESEARCH | {"output": "meter.sanitized"}], "tier[0].output: is the topic of another"),
        ([RESEARCH | {"output": "meter.ledger"}], "tier[0].output: is the topic of another"),
        (
            [RESEARCH | {"output": "x"}, PUBLIC | {"output": "x"}],
            "tier[1].output: is the topic of another",
        ),
    ],
)
def test_a_tier_that_is_no_copy_or_has_no_place_is_refused(tiers: Any, says: str) -> None:  # noqa: ANN401 - wrong ones too
    [problem, *_] = refused(policy=[PAID | {"tier": tiers}])
    assert problem.startswith(f"policy[0].{says}")


def test_joint_noise_has_no_tiers() -> None:
    [problem] = refused(policy=[with_tiers(RESEARCH, queries=["avg", "max"], noise="joint")])
    assert problem.startswith("policy[0].noise: is joint, and what answers share")


def test_a_tier_below_one_of_several_answers_is_refused() -> None:
    asked = ["avg", {"query": "max", "epsilon": "0.5"}]
    [problem] = refused(policy=[with_tiers(RESEARCH, queries=asked)])
    assert problem.startswith("policy[0].tier[0].epsilon: is no smaller")


def test_the_library_tells_one_audience(tmp_path: Any) -> None:  # noqa: ANN401 - a path
    with pytest.raises(ConfigRefused, match="tier: is not released by the library"):
        policy("tv-content", tier=[RESEARCH])
    file = tmp_path / "agent.toml"
    file.write_text(
        '[[policy]]\nname = "a"\npreset = "tv-content"\n'
        '[[policy.tier]]\nname = "research"\nepsilon = "0.1"\n'
    )
    with pytest.raises(ConfigRefused, match="tier: is not released by the library"):
        policies(file)


def test_those_who_decide_groups_have_their_tiers_and_topics() -> None:
    told = works(config(group=[ALONE | {"step": "100W", "tier": [RESEARCH, OPEN]}]))
    deciding = told[Work.GROUPS]
    outputs = ("meter.groups.sanitized", "meter.groups.sanitized.research", "open.data")
    assert deciding.kafka.outputs == outputs
    assert [tier.name for tier in deciding.tiers] == ["feeder/research", "feeder/public"]
    assert len(deciding.policies) == len(set(deciding.policies)) == 3
    assert told[Work.HOMES].kafka.outputs == ()


@pytest.mark.parametrize(
    "topic",
    [
        *("meter.readings", "meter.sanitized", "meter.ledger", "meter.groups", "meter.partials"),
        *("meter.ledger.homes", "meter.ledger.groups", "meter.rejected", "meter.policies"),
    ],
)
def test_what_groups_release_goes_where_nothing_else_does(topic: str) -> None:
    both: dict[str, Any] = {"policy": [HOME], "budget": {"amount": "24", "groups": "12"}}
    group = {one: its for one, its in ALONE.items() if one not in {"budget", "horizon"}}
    [problem] = refused(**both, group=[group | {"output": topic}])
    assert problem.startswith("group[0].output: is the topic of another stream")
    [problem] = refused(**both, group=[group | {"tier": [RESEARCH | {"output": topic}]}])
    assert problem.startswith("group[0].tier[0].output: is the topic of another stream")
