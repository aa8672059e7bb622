"""What is said of joint noise: what all answers lose and tell together, and where it loses."""

from __future__ import annotations

from decimal import Decimal
from math import log2
from typing import TYPE_CHECKING, Any

import pytest

from meteragent import Domain
from meteragent.explain.explain import bits_told, explain
from meteragent.explain.guarantee import Guarantee
from meteragent.explain.leakage import Load
from meteragent.explain.loads import EVERYDAY, Everyday, told_better, traces
from meteragent.privacy.joint import JointGeometric
from meteragent.privacy.question import question
from tests import given as kit
from tests.given import HOUR, MINUTE

if TYPE_CHECKING:
    from meteragent.explain.document import Explanation
    from meteragent.privacy.policy import Policy


FINE = Domain(0, 24_000, 10)
"""For what a fridge adds to an average; the rest is said of a grid on which it is sooner known."""


def policy(*names: str, **changes: Any) -> Policy:  # noqa: ANN401
    settings: dict[str, Any] = {
        "domain": Domain(0, 24_000, 50),
        "questions": tuple(question(name, "0.2", 100) for name in names),
        "size": 15 * MINUTE,
        "interval": MINUTE,
        "horizon": 24 * HOUR,
        "noise": "joint",
    }
    return kit.policy(**settings | changes)


def explained(of: Policy) -> Explanation:
    return explain(Guarantee("test", of, Decimal(100)))


def told(watts: float, minutes: int, of: Policy) -> float:
    load = Everyday("", "", ((1, Load(watts, minutes * 60)),))
    return traces(load, of, of.slots).together


def test_all_answers_lose_what_one_loses() -> None:
    said = explained(policy("avg", "max", "min"))
    assert said.guarantee.window_per_watt == said.answers[0].epsilon_per_watt == "0.002"
    assert "share one draw" in " ".join(said.guarantee.sentences)
    assert Guarantee("test", policy("avg", "max"), Decimal(100)).losses == {"joint": Decimal("0.2")}


def test_what_they_tell_together_is_said_beside_what_each_does() -> None:
    of = policy("avg", "max", "min")
    said, mechanism = explained(of), of.mechanism(of.questions[0])
    assert isinstance(mechanism, JointGeometric)
    assert said.together is not None
    assert said.together.times == mechanism.times_together > said.answers[0].times
    assert said.together.plus == mechanism.plus_together >= said.answers[0].plus
    assert said.together.bits == log2(mechanism.times_together)
    assert bits_told(of) == {"joint": said.together.bits}
    assert [answer.times for answer in said.answers] == [mechanism.multiplicative_capacity] * 3
    assert said.answers[0].expected_error.middle == mechanism.expected_error(240)
    assert explained(policy("avg", "max", noise="independent")).together is None


def test_it_tells_more_than_independent_noise_of_the_same_price() -> None:
    """Less noise has a price: at 500 W, on 1,200 levels of 20 W, 11.4 bits and not 9.5."""
    frame = {"domain": Domain(0, 24_000, 20)}
    third = tuple(question(name, "0.2", 300) for name in ("min", "avg", "max"))
    joint = bits_told(policy("min", "avg", "max", **frame))
    own = bits_told(policy(questions=third, noise="independent", **frame))
    assert joint["joint"] == pytest.approx(11.4, abs=0.05)
    assert sum(own.values()) == pytest.approx(9.5, abs=0.05)


def test_a_load_tells_as_much_as_the_answer_that_it_moves_most() -> None:
    both, average, most = (policy(*names) for names in (("avg", "max"), ("avg",), ("max",)))
    for minutes in (1, 5, 14, 40):
        one, other = told(2000, minutes, average), told(2000, minutes, most)
        together = told(2000, minutes, both)
        assert max(one, other) <= together < one + other
    own = policy("avg", "max", noise="independent")
    assert told(2000, 5, own) == told(2000, 5, average) + told(2000, 5, most)


def test_every_query_is_told_alone_too() -> None:
    said = explained(policy("avg", "max"))
    for seen in said.loads:
        assert max(bound.log_odds for bound in seen.by_query.values()) <= seen.together.log_odds


@pytest.mark.parametrize(
    ("minutes", "loads"),
    [
        (1, set()),
        (5, {"kettle"}),
        (15, {"kettle", "fridge cycle"}),
        (30, {"kettle", "fridge cycle", "washing machine", "empty house"}),
        (1440, {load.name for load in EVERYDAY}),
    ],
)
def test_loads_shorter_than_half_a_window_are_told_better(minutes: int, loads: set[str]) -> None:
    """Beside noise of their own on (avg, max) with the same mean error, at 2/3 of the loss each.

    A load that moves the average by less than half of what it moves the maximum is told better: an
    oven of 45 min moves all of the windows of 15 min that it fills, a fridge cycle of 20 min only
    one of the three that it may touch.
    """
    its = policy("avg", "max", size=minutes * MINUTE, domain=FINE)
    assert set(told_better(its)) == loads


def test_at_the_same_mean_error_independent_noise_hides_a_kettle_better() -> None:
    joint = policy("avg", "max")
    third = tuple(question(name, "0.2", 150) for name in ("avg", "max"))
    own = policy(questions=third, noise="independent")
    errors = [explained(of).answers[0].expected_error.middle for of in (joint, own)]
    assert errors[0] == pytest.approx(errors[1], rel=0.001)
    assert told(2000, 3, joint) > told(2000, 3, own)
    assert told(2000, 45, joint) < told(2000, 45, own)


def test_where_it_loses_is_said() -> None:
    def warnings(of: Policy) -> str:
        return " ".join(explained(of).warnings)

    assert "reveals more about some loads (kettle)" in warnings(policy("avg", "max"))
    assert "Joint noise is for several queries" in warnings(policy("avg"))
    assert "Joint noise" not in warnings(policy("avg", "max", size=MINUTE))
    assert "Joint noise" not in warnings(policy("avg", "max", noise="independent"))
