"""The `[[group]]` tables, and what homes reserve for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from meteragent.commands.explain import explanations
from meteragent.config import Config, from_document
from meteragent.config.presets import presets
from meteragent.config.works import Work, works
from meteragent.errors import ConfigRefused
from meteragent.privacy.group import GroupPolicy
from meteragent.privacy.members import Membership
from meteragent.privacy.published import policy_of

DAY, QUARTER = 86_400_000, 900_000
GROUP: dict[str, Any] = {
    "name": "feeder",
    "window": "1h",
    "interval": "1m",
    "maximum": "500kW",
    "home_maximum": "24kW",
    "epsilon": "1",
    "radius": "1kW",
}
ALONE = GROUP | {"budget": "24"}
HOME: dict[str, Any] = {
    "name": "homes",
    "window": "1h",
    "interval": "1m",
    "maximum": "24kW",
    "epsilon": "1",
}


def config(**document: Any) -> Config:  # noqa: ANN401 - tables of any kind
    return from_document(document, Path(), {})


def refused(**document: Any) -> list[str]:  # noqa: ANN401 - as above
    with pytest.raises(ConfigRefused) as error:
        config(**document)
    return [str(problem) for problem in error.value.problems]


def test_a_group_is_a_policy_of_the_panes_of_its_homes() -> None:
    [one] = config(group=[ALONE | {"min_homes": 5, "home_minimum": "-10kW"}]).groups
    policy = one.policy
    assert isinstance(policy, GroupPolicy)
    assert (policy.interval, policy.slots, policy.presence) == (QUARTER, 4, "private")
    assert (policy.home.interval, policy.home.slots) == (60_000, 15)
    assert (policy.homes.least, int(policy.home.domain.minimum)) == (5, -10_000)
    assert policy_of(policy.document()) == policy


def test_layers_are_as_many_as_make_up_the_range_of_a_home_and_cost_as_one() -> None:
    asked = {"window": "15m", "queries": ["avg", "layers(500W)", "layers(2kW)"], "budget": "3"}
    [one] = config(group=[ALONE | asked]).groups
    policy = one.policy
    assert [q.query.outputs(1) for q in policy.questions] == [1, 48, 12]
    assert policy.terms.price == sum(q.nano for q in policy.questions)
    assert policy_of(policy.document()) == policy
    [little] = refused(group=[ALONE | asked | {"budget": "2"}])
    assert little == 'group[0].budget: does not cover one window; write at least "3"'


def test_meters_have_no_layers() -> None:
    [problem] = refused(
        policy=[HOME | {"budget": "9", "radius": "1kW", "queries": ["layers(1kW)"]}]
    )
    assert problem == (
        "policy[0].queries: asks layers(1kW) of a meter, and layers are of homes of a group; "
        "write it in a [[group]]"
    )


def test_a_group_is_not_called_as_a_policy_of_meters_is() -> None:
    """Series of both are told apart by the names of policies alone."""
    tables: dict[str, Any] = {"budget": {"amount": "99", "groups": "9", "horizon": "1h"}}
    own, both = HOME | {"share": "9"}, GROUP | {"share": "9"}
    [problem] = refused(**tables, policy=[own], group=[both | {"name": "homes"}])
    assert problem == "group[0].name: is that of policy[0] too; write another one"
    assert config(**tables, policy=[own], group=[both]).groups


@pytest.mark.parametrize(("name", "windows"), [("feeder", 48), ("feeder-15m", 96)])
def test_a_preset_is_all_that_a_group_needs(name: str, windows: int) -> None:
    told = config(group=[{"name": "street", "preset": name}])
    [one] = told.groups
    assert one.policy.budget // one.policy.terms.price >= windows == one.policy.terms.per_horizon
    assert one.policy.homes.interval == 60_000
    changed = config(group=[{"name": "street", "preset": name, "interval": "5m"}])
    assert changed.groups[0].policy.homes.interval == 300_000
    [explained] = explanations(told)
    assert explained.choice is not None
    assert explained.choice.changed == ()
    assert f"--hide {name}`" in explained.choice.evidence
    [kettle] = [load for load in explained.loads if load.load == "kettle"]
    stated = float(presets("groups")[name].evidence.success)
    assert stated - 1e-4 < kettle.right.once <= stated < 0.54
    [explained] = explanations(changed)
    assert explained.choice is not None
    assert explained.choice.changed == ("interval",)


def test_presets_of_groups_are_not_for_meters() -> None:
    [problem] = refused(policy=[{"name": "homes", "preset": "feeder"}])
    assert problem.startswith("policy[0].preset: is not a preset; write one of")
    assert "feeder" not in problem


@pytest.mark.parametrize("window", ["day", "week", "month"])
def test_windows_may_be_those_of_a_calendar(window: str) -> None:
    [one] = config(
        group=[ALONE | {"window": window, "timezone": "Europe/Paris", "horizon": "40d"}]
    ).groups
    assert one.policy.interval == QUARTER
    assert policy_of(one.policy.document()) == one.policy


def test_what_says_that_it_is_a_group_changes_its_noise() -> None:
    plain, wider = (
        config(group=[ALONE | more]).groups[0].policy for more in ({}, {"home_maximum": "30kW"})
    )
    fewer = config(group=[ALONE | {"min_homes": 2}]).groups[0].policy
    assert plain.digest != wider.digest
    assert plain.digest == fewer.digest
    assert plain.id != fewer.id


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"hop": "15m"}, "group[0].hop: is not for groups; leave it out"),
        (
            {
                "queries": ["avg[07:00-23:00]"],
                "window": "week",
                "timezone": "Europe/Paris",
                "horizon": "40d",
            },
            "group[0].queries: asks about some hours of groups; ask about all",
        ),
        (
            {"queries": ["layers(500W)"]},
            "group[0].queries: asks layers of windows of several panes",
        ),
        (
            {"queries": ["layers(700W)"], "window": "15m"},
            "group[0].queries: asks layers(700W): such layers do not make up the range of a home",
        ),
        (
            {"queries": ["layers(15W)"], "window": "15m"},
            "group[0].queries: asks layers(15W): such layers do not make up the range of a home",
        ),
        (
            {"queries": ["layers(50W)"], "window": "15m"},
            "group[0].queries: asks layers(50W): these are more than 256; write a larger width",
        ),
        (
            {"queries": ["layers(0.5kW)"], "window": "15m"},
            "group[0].queries[0].query: 'layers(0.5kW)' is not one; write layers(500W)",
        ),
        (
            {"queries": ["layers(0W)"], "window": "15m"},
            "group[0].queries[0].query: 'layers(0W)' is not one; write for example layers(500W)",
        ),
        (
            {"queries": ["layers(500W)[07:00-23:00]"], "window": "15m"},
            "group[0].queries[0].query: 'layers(500W)[07:00-2' is not one: layers(500W) is of",
        ),
        (
            {"queries": ["layers(500W)"], "window": "15m", "noise": "joint"},
            "group[0].noise: is joint, and layers lose no more than one answer without",
        ),
        (
            {"queries": ["layers(500W)"], "window": "15m", "minimum": "1kW"},
            "group[0].minimum: is above 0 W, and layers are not; leave it out",
        ),
        (
            {"preset": "presence"},
            'group[0].preset: is not a preset; write one of "feeder", "feeder-15m"',
        ),
        ({"min_coverage": "0.5"}, "group[0].min_coverage: is not for groups; leave it out"),
        ({"presence": "public"}, 'group[0].presence: is not one of them; write one of "private"'),
        ({"min_homes": 0}, "group[0].min_homes: "),
        ({"home_minimum": "-5W"}, "group[0].home_minimum: is no whole number of the steps of 10 W"),
        (
            {"minimum": "-15W", "maximum": "85W"},
            "group[0].minimum: is no whole number of the steps",
        ),
        ({"home_maximum": "15W"}, "group[0].step: does not divide the range of 15 W"),
        ({"home_maximum": "0W"}, "group[0].home_minimum: must be below maximum"),
        ({"maximum": None}, "group[0].maximum: "),
        ({"home_maximum": None}, "group[0].home_maximum: "),
        ({"budget": None}, "group[0].budget: is missing"),
        ({"share": "1"}, "group[0].share: is set without a [budget]"),
    ],
)
def test_what_makes_no_sense_is_refused(change: dict[str, Any], problem: str) -> None:
    table = {name: value for name, value in (ALONE | change).items() if value is not None}
    [said] = refused(group=[table])
    assert said.startswith(problem)


def test_there_is_something_to_release() -> None:
    assert refused() == ["policy: is missing; write [[policy]], or [[group]]"]
    [problem] = refused(group="feeder", policy=[HOME | {"budget": "24"}])
    assert problem.startswith("group: is not a list of tables")


def test_groups_beside_policies_want_a_budget_that_reserves_for_them() -> None:
    tables = {"policy": [HOME | {"radius": "1kW", "share": "4"}], "group": [GROUP]}
    [missing] = refused(policy=[HOME | {"budget": "24"}], group=[ALONE])
    assert missing.startswith("budget: is missing beside [[policy]] and [[group]]")
    [unreserved] = refused(budget={"amount": "5", "radius": "1kW"}, **tables)
    assert unreserved.startswith("budget.groups: is missing")
    [little] = refused(budget={"amount": "5", "groups": "2", "radius": "1kW"}, **tables)
    assert little.startswith("budget.amount: is less than the shares of meters")
    whole = config(budget={"amount": "6", "groups": "2", "radius": "1kW"}, **tables)
    assert [one.policy.budget for one in whole.groups] == [2_000_000]
    assert whole.reserve.nano == 2_000_000


def test_a_group_has_all_that_is_reserved_or_its_share_of_it() -> None:
    budget = {"amount": "5", "groups": "3", "radius": "1kW"}
    street = GROUP | {"name": "street", "match": "s-", "share": "2"}
    told = config(budget=budget, group=[GROUP | {"share": "1"}, street])
    reserve = told.reserve
    assert [reserve.budget(group) for group in ("f-1", "s-1")] == [1_000_000, 2_000_000]
    assert (reserve.nano, reserve.horizon, reserve.lasting) == (3_000_000, DAY, 3_600_000)
    without, _ = refused(budget=budget, group=[GROUP, GROUP | {"name": "other"}])
    assert without.startswith("group[0].share: is missing")
    both = [GROUP | {"share": "2"}, GROUP | {"name": "other", "share": "2"}]
    [much] = refused(budget=budget, group=both)
    assert much.startswith('budget.groups: is less than what a group "" may spend')
    [twice] = refused(budget=budget, group=[ALONE])
    assert twice.startswith("group[0].budget: is set by the [budget]")


def test_without_a_budget_a_home_may_be_in_one_group_of_each_table() -> None:
    street = ALONE | {"name": "street", "match": "s-", "budget": "3"}
    reserve = config(group=[ALONE, street]).reserve
    said = [Membership("m", group) for group in ("f-1", "f-2", "s-1")]
    plan = reserve.plan(said)
    assert [member.group for member in plan.members] == ["f-1", "s-1"]
    assert plan.refused == 1
    [unlike] = refused(group=[ALONE, street | {"horizon": "7d"}])
    assert unlike.startswith("group[1].horizon: is not that of group[0]")
    twins = refused(group=[ALONE, ALONE])
    assert [problem.partition(":")[0] for problem in twins] == ["group[1].name", "group[1].match"]


def test_layers_are_of_power() -> None:
    flow = {"quantity": "flow", "maximum": "500m3/h", "home_maximum": "5m3/h", "radius": "1m3/h"}
    asked = {"window": "15m", "queries": ["layers(500W)"], "budget": "96", "step": "100l/h"}
    said = refused(group=[GROUP | flow | asked], input={"unit": "l/h"})
    assert any("layers of what is no power" in one for one in said), said


def test_groups_are_spelled_as_those_do_who_say_who_is_in_them() -> None:
    """Whatever is made of the ids of meters: else their accounts would be looked for elsewhere."""
    config = from_document({"agent": {"normalise_ids": True}, "group": [ALONE]}, Path(), {})
    its = works(config)
    assert its[Work.HOMES].agent.normalise_ids
    assert not its[Work.GROUPS].agent.normalise_ids
