"""Whoever reads members early or late, before or after a compaction, finds the same."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meteragent.formats.member_records import MemberRecords, NotTaken, following, record
from meteragent.privacy.members import ALWAYS, FOR_EVER, Membership
from tests.given import HOUR

LEAD = HOUR
Said = tuple[bytes, bytes, int]


@st.composite
def lists(draw: st.DrawFn, home: str) -> list[Membership]:
    """Any list of a home: in each group it is once, twice, or never."""
    found = []
    for group in ("f", "g"):
        times = sorted(draw(st.sets(st.integers(0, 40), max_size=4)))
        pairs = list(zip(times[::2], times[1::2], strict=False))
        found += [Membership(home, group, low * HOUR, high * HOUR) for low, high in pairs]
    return found


def followed(before: list[Membership], new: list[Membership], frontier: int) -> list[Membership]:
    """What a lawful writer says: the past as it was, and then what is new."""
    past = [m._replace(until=min(m.until, frontier)) for m in before if m.since < frontier]
    return past + [m._replace(since=max(m.since, frontier)) for m in new if m.until > frontier]


@st.composite
def histories(draw: st.DrawFn) -> list[Said]:
    """Records of lawful writers."""
    now, found = 0, []
    known: dict[str, list[Membership]] = {}
    for _ in range(draw(st.integers(1, 8))):
        now += draw(st.integers(0, 6)) * HOUR
        home = draw(st.sampled_from("ab"))
        new = draw(lists(home))
        if home in known:
            new = followed(known[home], new, now + LEAD + draw(st.integers(0, 2)) * HOUR)
        known[home] = new
        found.append((home.encode(), record(new), now))
    return found


def read(records: list[Said]) -> MemberRecords:
    register = MemberRecords(LEAD)
    assert [register.take(*one) for one in records] == [None] * len(records)
    return register


def at(register: MemberRecords, time: int) -> set[tuple[str, str]]:
    return {(m.home, m.group) for m in register.members() if m.since <= time < m.until}


@given(histories(), st.integers(0, 8))
def test_compaction_changes_nothing(records: list[Said], clean: int) -> None:
    """Of what is compacted the last record of each home is left; behind that, every one."""
    last = {key: nth for nth, (key, _, _) in enumerate(records[:clean])}
    left = [one for nth, one in enumerate(records) if nth >= clean or nth == last[one[0]]]
    assert read(left).members() == read(records).members()


@given(histories())
def test_windows_that_begin_within_the_lead_have_the_members_that_they_had(
    records: list[Said],
) -> None:
    for nth in range(1, len(records)):
        key, _, now = records[nth]
        before, after = read(records[:nth]), read(records[: nth + 1])
        if key not in {one for one, _, _ in records[:nth]}:
            continue  # nobody knows what was said of it before
        for hour in range(now // HOUR + 1):
            assert at(before, hour * HOUR) == at(after, hour * HOUR)
        assert at(before, now + LEAD - 1) == at(after, now + LEAD - 1)


@given(lists("a"), lists("a"), st.integers(0, 40))
def test_a_record_that_changes_what_has_begun_is_refused(
    before: list[Membership], after: list[Membership], hour: int
) -> None:
    register, now = MemberRecords(LEAD), hour * HOUR
    register.take(b"a", record(before), 0)
    had = {time: at(register, time) for time in range(0, now + LEAD, HOUR // 2)}
    said = register.take(b"a", record(after), now)
    wanted = MemberRecords(LEAD)
    wanted.take(b"a", record(after), 0)
    same = had == {time: at(wanted, time) for time in had}
    assert said == (None if same else NotTaken.TOO_SOON)
    assert register.members() == (wanted if same else read([(b"a", record(before), 0)])).members()


@given(lists("a"), lists("a"), lists("b"), st.integers(0, 40))
def test_what_is_written_is_taken_and_makes_all_as_wanted_from_the_frontier_on(
    before: list[Membership], after: list[Membership], other: list[Membership], hour: int
) -> None:
    now, frontier = hour * HOUR, hour * HOUR + LEAD
    known, wanted = read([(b"a", record(before), 0)]), [*after, *other]
    for home, its in following(before, wanted, frontier).items():
        assert known.take(home.encode(), record(its), now) is None
    assert known.homes == 1 + any(member.until > frontier for member in other)
    for time in range(0, 50 * HOUR, HOUR // 2):
        now_in = before if time < frontier else wanted
        assert at(known, time) == {(m.home, m.group) for m in now_in if m.since <= time < m.until}
    assert following(known.members(), wanted, frontier) == {}
    first = following([], wanted, ALWAYS)
    assert [one for its in first.values() for one in its] == sorted(wanted)


def test_from_ever_and_for_ever_are_told_as_nothing() -> None:
    one = Membership("a", "f")
    assert json.loads(record([one])) == {"groups": [{"group_id": "f", "from": None, "until": None}]}
    assert read([(b"a", record([one]), 0)]).members() == [one]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b'{"groups":[]}'),
        (b"\xff", b'{"groups":[]}'),
        (b"a\n", b'{"groups":[]}'),
        *(
            (b"a", value)
            for value in (
                None,
                b"",
                b"[]",
                b"{}",
                b'{"groups":1}',
                b'{"groups":["f"]}',
                b'{"groups":[{}]}',
                b'{"groups":[{"group_id":1}]}',
                b'{"groups":[{"group_id":""}]}',
                b'{"groups":[{"group_id":"f","from":true}]}',
                b'{"groups":[{"group_id":"f","from":2,"until":2}]}',
                b'{"groups":[{"group_id":"f","until":3.5}]}',
                b'{"groups":[{"group_id":"f","until":3},{"group_id":"f","from":2}]}',
                b"[" * 10**5,
            )
        ),
    ],
)
def test_what_is_no_list_of_groups_changes_nothing(key: bytes | None, value: bytes | None) -> None:
    register = read([(b"a", record([Membership("a", "f", ALWAYS, FOR_EVER)]), 0)])
    assert register.take(key, value, 10**9) is NotTaken.DAMAGED
    assert len(register.members()) == 1
