from dataclasses import replace
from decimal import Decimal

import pytest

from meteragent.errors import InvalidSetting
from meteragent.privacy.question import question
from tests.given import SECOND, policy


@pytest.mark.parametrize(
    ("coverage", "slots", "needed"),
    [("0", 6, 1), ("0.5", 6, 3), ("0.5", 3, 2), ("0.8", 6, 5), ("0.8", 90, 72), ("1", 6, 6)],
)
def test_a_window_needs_at_least_its_share_of_readings(
    coverage: str, slots: int, needed: int
) -> None:
    of = policy(size=slots * SECOND, interval=SECOND, min_coverage=Decimal(coverage))
    assert of.needed == needed


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
        ({"questions": tuple(question(f"p0.{n:03}", 1, 100) for n in range(129))}, "queries"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused_by_its_field(
    changes: dict[str, object], field: str
) -> None:
    sound = policy(questions=(AVERAGE,), size=6 * SECOND, interval=SECOND)
    with pytest.raises(InvalidSetting) as refused:
        replace(sound, **changes)  # type: ignore[arg-type]
    assert refused.value.field == field
