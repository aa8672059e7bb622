"""The map of the house is complete, and says the order of things right."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from meteragent.privacy.exact import NANO
from meteragent.privacy.ledger import Ledger
from meteragent.privacy.query import Query, query
from meteragent.privacy.question import Question
from meteragent.stream.pipeline import Assigned, Pipeline
from tests.docs.house import Folder, docstring, folders, house, rooms_of
from tests.given import KEY, MINUTE, Record, policy, readings
from tests.test_purity import sources

if TYPE_CHECKING:
    from meteragent.privacy.arrays import Integers
    from meteragent.privacy.query import Answers, Contents


@pytest.mark.parametrize("folder", folders(), ids=lambda folder: folder.name)
def test_a_folders_docstring_lists_its_rooms_once_each(folder: Folder) -> None:
    prefix = f"meteragent.{folder.name}."
    there = [name.removeprefix(prefix) for name in sources() if name.startswith(prefix)]
    assert sorted(folder.rooms) == sorted(there)


def test_every_room_says_in_one_line_what_it_is_for() -> None:
    for module in sources():
        first = docstring(module.removeprefix("meteragent").removeprefix(".") or ".")
        assert first.partition("\n")[0].endswith((".", ":")), module


def test_rooms_are_found() -> None:
    text = "What it is.\n\na    first, of  all\nb, c_d    second\n\nIt says  nothing more.\n"
    assert rooms_of(text) == ("a", "b", "c_d")


def test_an_account_is_charged_before_a_query_is_asked_as_the_map_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    way = house().splitlines()[1].split(" -> ")
    assert way.index("windows") < way.index("budget") < way.index("queries and noise")

    done = []
    charge, average = Ledger.charge, query("avg")

    def charged(ledger: Ledger, accounts: Integers, starts: Integers) -> Integers:
        done.append("charged")
        return charge(ledger, accounts, starts)

    def asked(windows: Contents) -> Answers:
        done.append("asked")
        return average.answer(windows)

    monkeypatch.setattr(Ledger, "charge", charged)
    question = Question(Query("avg", asked), NANO)
    once = policy(questions=(question,), budget=NANO)
    pipeline = Pipeline([Assigned("", "all", once)], KEY, max_skew=0, max_meters=1)
    times = [0, MINUTE, 2 * MINUTE]
    for at, time in enumerate(times):
        list(pipeline.feed(readings([Record("m", time, time, (5.0,))], at)))
    assert done == ["charged", "asked", "charged"]
