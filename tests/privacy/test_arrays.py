"""What numpy has no word for."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from meteragent.privacy.arrays import counted


@given(st.lists(st.integers(0, 9)))
def test_counting_begins_anew_with_each_count(counts: list[int]) -> None:
    expected = [nth for many in counts for nth in range(many)]
    assert counted(np.array(counts, dtype=np.int64)).tolist() == expected
