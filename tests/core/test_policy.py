from decimal import Decimal

import pytest

from meteragent.domain import Domain
from meteragent.policy import Policy, question


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
