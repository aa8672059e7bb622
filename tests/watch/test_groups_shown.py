"""What the page and the metrics tell of groups, and what they do not."""

from __future__ import annotations

import json
from typing import Any

from meteragent.privacy.members import Membership
from meteragent.watch.events import MembersRead
from meteragent.watch.shown import MOST_GROUPS, of_ended, of_several
from meteragent.watch.status import Status
from meteragent.watch.whole import ended, merged
from tests.watch.stage import Stage
from tests.watch.stage import config as of_meters
from tests.watch.street import (
    BEGIN,
    MEMBERS,
    QUARTER,
    Street,
    beside,
    busy,
    settings,
)


def shown() -> dict[str, Any]:
    _, _, status = busy()
    found = status.document()["groups"]
    assert isinstance(found, dict)
    return found


def at(quarter: int) -> float:
    return (BEGIN + quarter * QUARTER) / 1000


def test_each_group_is_shown_with_its_homes_and_how_far_it_is_decided() -> None:
    found = shown()
    told = {one["group"]: one for one in found["listed"]}
    homes = {group: one["homes"] for group, one in told.items()}
    assert homes == {"f-0": 3, "f-1": 3, "f-2": 3, "f-alone": 1}
    assert {one["decided_until"] for one in told.values()} == {at(4)}
    withheld = {group: one["withheld"] for group, one in told.items()}
    assert withheld == {"f-0": None, "f-1": None, "f-2": None, "f-alone": "homes"}
    assert found["more"] == 0


def test_that_the_next_window_is_not_paid_for_is_shown() -> None:
    """Three of four windows of an hour are paid for."""
    config = settings()
    street, told = Street(config), []
    for quarter in range(5):
        for source in (0, 1):
            street.tell(source, quarter, {"f-0": 100} if source else {})
        [group] = beside(street, Stage(config), config).document()["groups"]["listed"]
        told.append(group["withheld"])
    assert told == [None, None, "budget", None, None]


def test_which_partitions_are_waited_for_is_shown() -> None:
    [policy] = shown()["policies"]
    assert policy == {
        "name": "feeders",
        "known": 4,
        "decided_until": at(4),
        "panes_waiting": 2,
        "waits_for": [1],
    }
    street, _, _ = busy()
    assert street.value("group_panes_waiting", policy="feeders") == 2
    assert street.value("group_waits_for", policy="feeders", partition="1") == 1
    assert street.value("group_waits_for", policy="feeders", partition="0") is None
    assert street.value("groups_decided_until_seconds", policy="feeders") == at(4)


def test_what_was_refused_is_shown_and_counted() -> None:
    street, _, status = busy()
    found = status.document()["groups"]
    assert found["refused"] == {"late_partial": 1}
    counts = {"members": 12, "later": 1, "refused": 2, "damaged": 0, "too_soon": 1}
    assert found["members"] == counts
    for outcome, count in counts.items():
        assert street.value("group_memberships", outcome=outcome) == count


def test_windows_of_too_few_homes_are_not_told_as_out_of_budget() -> None:
    """Four windows of four groups: three have paid for three of them, one is never asked."""
    street, _, status = busy()
    reasons = {"budget": 3, "coverage": 0, "lost": 0, "homes": 4}
    [policy] = [one for one in status.document()["policies"] if one["name"] == "feeders"]
    assert policy["suppressed"] == reasons
    for reason, count in reasons.items():
        assert street.value("windows_suppressed_total", policy="feeders", reason=reason) == count
    assert policy["windows"] == {"closed": 16, "released": 9}
    assert street.monitor.recent.asking("feeders") == 12 / 16


def test_what_a_home_may_lose_in_all_is_said_in_one_sentence() -> None:
    said = shown()["promise"]
    assert said.startswith(
        "For any home, everything released about it and about all groups that it is in"
    )
    assert "odds change by at most x22,100 in 1 h" in said  # exp(4 + 6)


def test_policies_of_meters_and_of_groups_are_both_shown() -> None:
    _, _, status = busy()
    told = [(one["name"], one["of"]) for one in status.document()["policies"]]
    assert told == [("household", "meter"), ("feeders", "group")]


def test_where_there_are_no_groups_nothing_is_said_of_them() -> None:
    stage = Stage(of_meters())
    assert Status(stage.settings, stage.monitor, stage).document()["groups"] is None


def test_an_agent_of_groups_alone_shows_them() -> None:
    config = settings(
        """
        [[group]]
        name = "f"
        window = "15m"
        interval = "5m"
        maximum = "9kW"
        home_maximum = "9kW"
        epsilon = "1"
        budget = "9"
        """
    )
    street = Street(config, [Membership("m", "f-1")])
    status = Status(config, street.monitor, street, works={"homes": street.monitor})
    found = status.document()
    assert [one["name"] for one in found["policies"]] == ["f"]
    assert found["groups"]["policies"][0]["decided_until"] is None
    assert found["groups"]["listed"] == []


def test_until_members_are_read_nothing_is_said_of_them() -> None:
    config = settings()
    street = Street(config)
    street.monitor.members = None
    document = beside(street, Stage(config), config).document()
    assert document["groups"]["members"] is None
    street.monitor.tell(MembersRead(1, 0, 0, 0, 0))
    document = beside(street, Stage(config), config).document()
    assert document["groups"]["members"]["members"] == 1


def test_of_many_groups_those_that_are_farthest_behind_are_shown() -> None:
    config = settings()
    many = [Membership(f"m-{n}", f"f-{n:03}") for n in range(60)]
    street = Street(config, many)
    early = {f"f-{n:03}": 10 for n in range(0, 60, 2)}
    late = {f"f-{n:03}": 10 for n in range(60)}
    for source in (0, 1):
        street.tell(source, 0, early)
    for source in (0, 1):
        street.tell(source, 1, late)
    found = beside(street, Stage(config), config).document()["groups"]
    assert (len(found["listed"]), found["more"]) == (MOST_GROUPS, 60 - MOST_GROUPS)
    assert [one["group"] for one in found["listed"]] == [f"f-{n:03}" for n in range(MOST_GROUPS)]


def test_nothing_that_homes_draw_changes_what_is_shown() -> None:
    def told(watts: int) -> tuple[str, bytes]:
        config = settings()
        street, stage = Street(config), Stage(config)
        for quarter in range(6):
            street.tell(0, quarter, {"f-0": watts, "f-1": watts // 2})
            street.tell(1, quarter, {"f-2": 24_000 - watts})
        document = beside(street, stage, config).document()
        document.pop("now")
        document.pop("up_seconds")
        text, _ = street.monitor.series.expose()
        return json.dumps(document), text

    assert told(0) == told(23_990)
    text = told(23_990)
    for number in ("23990", "11995", "2399", "1199"):
        assert number not in text[0]


def test_metrics_of_all_works_are_the_same_at_every_scrape_each_series_once() -> None:
    street, stage, _ = busy()
    others = {"groups": street.monitor.series}
    once, again = (stage.monitor.series.expose("", others)[0].decode() for _ in range(2))
    assert once == again
    names = [line.rpartition(" ")[0] for line in once.splitlines() if not line.startswith("#")]
    assert len(names) == len(set(names))


def test_no_home_and_no_group_is_named_in_a_metric() -> None:
    street, _, _ = busy()
    text = street.monitor.series.expose()[0].decode()
    assert not any(one.home in text or f'"{one.group}"' in text for one in MEMBERS)


def test_groups_of_several_processes_are_shown_as_of_one() -> None:
    """Each decides some of them; what one that has ended refused is still known."""
    found = shown()
    halves = [
        {**found, "listed": found["listed"][at::2], "refused": {"late_partial": at + 1}}
        for at in range(2)
    ]
    nobody = {**found, "members": None, "policies": [], "refused": {}, "listed": [], "more": 0}
    whole = of_several([nobody, *halves])
    assert whole["listed"] == found["listed"]
    assert whole["members"] == found["members"]
    assert whole["refused"] == {"late_partial": 3}
    [policy], [of_one] = whole["policies"], found["policies"]
    assert policy == of_one | {"known": 2 * of_one["known"]}
    gone = of_several([nobody, of_ended(halves[1])])
    assert gone["listed"] == gone["policies"] == []
    assert gone["refused"] == {"late_partial": 2}
    many = {**found, "listed": [{**found["listed"][0], "group": str(n)} for n in range(40)]}
    both = of_several([many, many])
    assert len(both["listed"]) == MOST_GROUPS
    assert both["more"] == 80 - MOST_GROUPS


def test_a_page_of_several_processes_shows_their_groups() -> None:
    document = busy()[2].document()
    whole = merged(document, [document, ended(document)])
    assert whole["groups"]["listed"] == sorted(
        2 * document["groups"]["listed"], key=lambda one: (one["decided_until"], one["group"])
    )
