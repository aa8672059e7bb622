from decimal import Decimal

import pytest

from meteragent.errors import InvalidSetting
from meteragent.privacy.domain import Domain
from meteragent.privacy.policy import Policy, question


@pytest.mark.parametrize(
    ("coverage", "slots", "needed"),
    [("0", 6, 1), ("0.5", 6, 3), ("0.5", 3, 2), ("0.8", 6, 5), ("0.8", 90, 72), ("1", 6, 6)],
)
def test_a_window_needs_at_least_its_share_of_readings(
    coverage: str, slots: int, needed: int
) -> None:
    policy = Policy(
        domain=Domain(0, 1000, 10),
        questions=(question("avg", 1, 100),),
        size=slots * 1000,
        interval=1000,
        hop=slots * 1000,
        grace=0,
        idle=0,
        budget=10**9,
        horizon=slots * 1000,
        min_coverage=Decimal(coverage),
    )
    assert policy.needed == needed


AVERAGE = question("avg", 1, 100)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"interval": 0}, "interval"),
        ({"size": -1}, "size"),
        ({"grace": -1}, "grace"),
        ({"idle": -1}, "idle"),
        ({"interval": 700}, "interval"),
        ({"hop": 1500}, "hop"),
        ({"hop": 7000}, "hop"),
        ({"interval": 1, "size": 200_000, "hop": 200_000}, "interval"),
        ({"questions": ()}, "queries"),
        ({"questions": (AVERAGE, AVERAGE)}, "queries"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused_by_its_field(
    changes: dict[str, object], field: str
) -> None:
    settings: dict[str, object] = {
        "domain": Domain(0, 1000, 10),
        "questions": (AVERAGE,),
        "size": 6000,
        "interval": 1000,
        "hop": 6000,
        "grace": 0,
        "idle": 0,
        "budget": 10**9,
        "horizon": 10**6,
    }
    Policy(**settings)  # type: ignore[arg-type]
    with pytest.raises(InvalidSetting) as refused:
        Policy(**{**settings, **changes})  # type: ignore[arg-type]
    assert refused.value.field == field
