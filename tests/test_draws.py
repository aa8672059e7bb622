"""What a law is tried with depends on its own words alone, wherever and beside what it runs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

ODD = {7_000_003 + 1009 * nth for nth in range(200)}


def drawn() -> list[int]:
    found: list[int] = []

    @settings(derandomize=True, database=None, max_examples=100)
    @given(st.integers())
    def look(number: int) -> None:
        found.append(number)

    look()
    return found


def test_modules_that_happen_to_be_loaded_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = drawn()
    (tmp_path / "odd_numbers.py").write_text(f"ODD = {ODD}\n")
    monkeypatch.syspath_prepend(tmp_path)
    import_module("odd_numbers")
    assert drawn() == before
    assert not ODD & {*before}


def test_else_their_numbers_would_be_among_what_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(providers, "_get_local_constants", lambda: Constants(integers=ODD))
    monkeypatch.setattr(providers, "CONSTANTS_CACHE", {})
    assert ODD & {*drawn()}
