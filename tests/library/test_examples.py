"""What docstrings show is what happens."""

from __future__ import annotations

import doctest
import warnings
from importlib import import_module
from operator import attrgetter

import pytest

import meteragent
from tests.docs.house import docstring, rooms_of

ROOMS = rooms_of(docstring("library"))


@pytest.mark.parametrize("room", ROOMS)
def test_examples_do_what_they_show(room: str) -> None:
    module = import_module(f"meteragent.library.{room}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert not found.failed


@pytest.mark.parametrize("called", ["policy", "protect", "simulate", "reader.bills"])
def test_what_people_call_first_has_an_example(called: str) -> None:
    assert ">>>" in (attrgetter(called)(meteragent).__doc__ or "")
