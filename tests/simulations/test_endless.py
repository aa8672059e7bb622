"""Memory stays flat however much is piped into `sanitize`: the measurement itself, in small."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from simulations.peers import endless

if TYPE_CHECKING:
    from collections.abc import Sequence


@pytest.mark.parametrize(
    "gigabytes",
    [pytest.param("0.1", id="little"), pytest.param("1", id="much", marks=pytest.mark.slow)],
)
def test_memory_is_flat(gigabytes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["endless", "--gigabytes", gigabytes])
    assert endless.main() == 0


@pytest.mark.parametrize(("held", "code"), [([100] * 10, 0), (range(100, 120, 2), 1)])
def test_memory_that_grows_is_told(
    held: Sequence[int], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["endless"])
    monkeypatch.setattr(endless, "measure", lambda *_: list(held))
    assert endless.main() == code
