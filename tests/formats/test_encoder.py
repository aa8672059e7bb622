"""What is published is what the twin would write, and tells nothing that was not granted."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meteragent.formats.encoder import Encoder, reject_document
from meteragent.formats.forms import longest_release
from meteragent.privacy.domain import Domain
from meteragent.privacy.question import question
from meteragent.stream.readings import Reason, Reject
from meteragent.stream.releases import Releases, Withheld
from tests.given import SECOND, policy
from tests.twins import codec as twin

if TYPE_CHECKING:
    from meteragent.privacy.policy import Policy


QUERIES = ("avg", "p95", "max", "reading", "p99.9", "median")


def asking(*names: str, **changes: object) -> Policy:
    """These queries, with different epsilons, of windows of four readings."""
    return policy(
        domain=Domain("-100", 24_000, "0.5"),
        questions=tuple(question(name, f"0.{4 + i}", 100) for i, name in enumerate(names)),
        size=40 * SECOND,
        **changes,
    )


def asking_together(*names: str, **changes: object) -> Policy:
    """The same with one draw, and one loss, for all of them."""
    same = tuple(question(name, "0.4", 100) for name in names)
    return replace(asking(*names, **changes), questions=same, noise="joint")


USUAL = asking("avg", "p95")


def releases(rules: Policy, windows: int, seed: int = 1) -> Releases:
    """Fully granted windows of made-up content."""
    random = np.random.default_rng(seed)
    outputs = sum(asked.query.outputs(rules.slots) for asked in rules.questions)
    present = random.random((windows, rules.slots)) < 0.7
    return Releases(
        rules,
        [f"m-{window}" for window in range(windows)],
        np.arange(windows) * rules.size,
        np.full(windows, len(rules.questions)),
        [Withheld.NOTHING] * windows,
        present.sum(axis=1),
        present,
        random.integers(-200, 48_000, (windows, outputs)).astype(np.float64) / 2,
        random.random((windows, outputs)) * 5000,
    )


@st.composite
def decided(draw: st.DrawFn) -> Releases:
    names = draw(st.lists(st.sampled_from(QUERIES), min_size=1, max_size=4, unique=True))
    told = draw(st.sampled_from(("private", "classes", "exact", "none")))
    changes = {"presence": "private"} if told == "private" else {"readings": told}
    together = "reading" not in names and draw(st.booleans())
    rules = (asking_together if together else asking)(*names, **changes)
    windows = draw(st.integers(0, 5))
    made = releases(rules, windows, seed=draw(st.integers(0, 2**32)))
    grants = st.sampled_from([0, len(names)] if together else range(len(names) + 1))
    granted = draw(st.lists(grants, min_size=windows, max_size=windows))
    withheld = [Withheld.NOTHING if some == len(names) else Withheld.BUDGET for some in granted]
    text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
    meters = draw(st.lists(text, min_size=windows, max_size=windows))
    values = made.values.copy()
    values[np.array(granted, dtype=np.int64) == 0] = np.nan
    return replace(
        made, meters=meters, granted=np.array(granted, np.int64), withheld=withheld, values=values
    )


@given(decided())
def test_documents_are_byte_for_byte_those_of_the_twin(made: Releases) -> None:
    encoder = Encoder()
    assert encoder.encode(made) == twin.encode(made)
    assert encoder.encode(made) == twin.encode(made)


def test_a_release_reads_as_the_design_says() -> None:
    made = replace(releases(USUAL, 1), values=np.array([[410.0, 1830.0]]))
    made = replace(made, unbiased=np.array([[410.0, 1830.5]]), held=np.array([4]))
    assert json.loads(Encoder().encode(made)[0]) == {
        "schema": "meteragent.release/2",
        "meter_id": "m-0",
        "window_start": 0,
        "window_end": 40_000,
        "status": "released",
        "values": {"avg": 410.0, "p95": 1830.0},
        "unbiased": {"avg": 410.0, "p95": 1830.5},
        "unit": "W",
        "policy": made.policy.id,
        "epsilon": {"avg": "0.004", "p95": "0.005"},
        "readings": "all",
        "slots": 4,
    }


def test_answers_that_share_a_draw_say_what_they_lose_together() -> None:
    document = json.loads(Encoder().encode(releases(asking_together("avg", "max"), 1))[0])
    assert document["epsilon"] == {"joint": "0.004"}
    assert document["values"].keys() == document["unbiased"].keys() == {"avg", "max"}


@pytest.mark.parametrize("withheld", [Withheld.BUDGET, Withheld.COVERAGE])
def test_a_suppressed_window_says_why_and_nothing_else(withheld: Withheld) -> None:
    made = replace(releases(USUAL, 1), granted=np.array([0]), withheld=[withheld])
    document = json.loads(Encoder().encode(made)[0])
    assert document["status"] == "suppressed"
    assert document["withheld"] == withheld
    assert document["values"] == document["unbiased"] == document["epsilon"] == {}
    assert not {"readings", "slots"} & document.keys()


def test_answers_that_were_not_granted_change_no_byte() -> None:
    made = replace(
        releases(asking("avg", "reading", "max"), 2),
        granted=np.array([1, 2]),
        withheld=[Withheld.BUDGET] * 2,
    )
    changed = replace(made, values=made.values.copy(), unbiased=made.unbiased.copy())
    for outputs in (changed.values, changed.unbiased):
        outputs[0, 1:] = 17
        outputs[1, 5:] = np.nan
    assert Encoder().encode(made) == Encoder().encode(changed)


def test_private_presence_changes_no_byte() -> None:
    made = releases(asking("avg", "reading", presence="private"), 5)
    others = replace(made, held=4 - made.held, present=~made.present)
    assert Encoder().encode(made) == Encoder().encode(others)
    document = json.loads(Encoder().encode(made)[0])
    assert not {"readings", "slots"} & document.keys()
    assert None not in document["values"]["reading"]


@pytest.mark.parametrize("withheld", [Withheld.BUDGET, Withheld.COVERAGE])
@pytest.mark.parametrize("readings", ["classes", "exact", "none"])
def test_how_many_readings_there_were_changes_no_byte_of_what_is_withheld(
    readings: str, withheld: Withheld
) -> None:
    made = releases(asking("avg", readings=readings), 5)
    made = replace(made, granted=np.zeros(5, dtype=np.int64), withheld=[withheld] * 5)
    others = replace(made, held=4 - made.held, present=~made.present)
    assert Encoder().encode(made) == Encoder().encode(others)


@pytest.mark.parametrize(
    ("readings", "told"),
    [
        ("classes", ["some", "some", "half", "half", "most", "most", "all"]),
        ("exact", [0, 4, 5, 7, 8, 9, 10]),
        ("none", [None] * 7),
    ],
)
def test_readings_are_counted_as_the_policy_says(readings: str, told: list[object]) -> None:
    rules = policy(size=100 * SECOND, readings=readings)
    made = releases(rules, 7)
    held = np.array([0, 4, 5, 7, 8, 9, 10])
    documents = map(json.loads, Encoder().encode(replace(made, held=held)))
    assert [document.get("readings") for document in documents] == told


def test_public_presence_shows_absent_slots_as_null() -> None:
    made = releases(asking("reading", readings="exact"), 5)
    for document, present in zip(Encoder().encode(made), made.present.tolist(), strict=True):
        shown = json.loads(document)
        assert [slot is not None for slot in shown["values"]["reading"]] == present
        assert [slot is not None for slot in shown["unbiased"]["reading"]] == present
        assert shown["readings"] == sum(present)


def test_a_window_is_written_alike_whatever_stands_beside_it() -> None:
    made = releases(USUAL, 6)
    alone = [
        Encoder().encode(
            replace(
                made,
                meters=made.meters[window : window + 1],
                starts=made.starts[window : window + 1],
                granted=made.granted[window : window + 1],
                withheld=made.withheld[window : window + 1],
                held=made.held[window : window + 1],
                present=made.present[window : window + 1],
                values=made.values[window : window + 1],
                unbiased=made.unbiased[window : window + 1],
            )
        )[0]
        for window in range(6)
    ]
    assert Encoder().encode(made) == alone


def test_one_encoder_keeps_policies_apart() -> None:
    encoder = Encoder()
    several = [
        releases(USUAL, 2),
        releases(replace(USUAL, presence="private"), 2),
        releases(replace(USUAL, hop=20_000), 2),
        releases(replace(USUAL, min_coverage=Decimal("0.8")), 2),
        releases(asking("max"), 2),
        releases(USUAL, 2),
    ]
    assert [encoder.encode(made) for made in several] == [twin.encode(made) for made in several]


@pytest.mark.parametrize(
    "meter", ['"', "\\", "%s", "%%", "\x00", '"\\u0000"', "zähler", "😀", "\x7f"]
)
def test_meter_ids_come_back_as_they_were(meter: str) -> None:
    (document,) = Encoder().encode(replace(releases(USUAL, 1), meters=[meter]))
    assert json.loads(document)["meter_id"] == meter
    assert document.isascii()


def test_a_reject_tells_where_and_why_only() -> None:
    document = reject_document("meter.readings", 3, Reject(17, Reason.BAD_VALUE))
    assert document == (
        b'{"schema":"meteragent.reject/1","topic":"meter.readings","partition":3,'
        b'"offset":17,"reason":"bad_value"}'
    )


@given(decided(), st.floats(allow_nan=False, allow_infinity=False))
def test_no_release_is_longer_than_the_longest(made: Releases, unbiased: float) -> None:
    made = replace(made, unbiased=np.full_like(made.unbiased, unbiased))
    longest = longest_release(Encoder(), made.policy)
    assert all(len(document) <= longest for document in Encoder().encode(made))


def test_the_longest_release_is_one_that_there_can_be() -> None:
    """Else a topic that takes every release would be refused."""
    rules = asking("reading")
    made = replace(
        releases(rules, 1),
        meters=["\U0001f4a1" * 128],
        held=np.array([rules.slots]),
        present=np.ones((1, rules.slots), dtype=np.bool_),
        values=np.full((1, rules.slots), 23_999.5),
        unbiased=np.full((1, rules.slots), -0.0012345678901234567),
    )
    (document,) = Encoder().encode(made)
    assert len(document) > 0.95 * longest_release(Encoder(), rules)
