"""Frames of releases, taken apart by policy, and what is made of them put together again."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from meteragent.errors import InvalidSetting
from meteragent.explain.reader import Floats
from meteragent.formats.encoder import is_list
from meteragent.formats.release_columns import UNBIASED, CellKind
from meteragent.library.frames import frame_of
from meteragent.library.outcome import Column
from meteragent.library.plan import PolicyPlan
from meteragent.privacy.arrays import Integers
from meteragent.privacy.policy import Policy
from meteragent.privacy.question import Question


class Answered(NamedTuple):
    """The releases of one policy."""

    policy: Policy
    asked: Question
    rows: Integers
    unbiased: Floats
    """Of the question, NaN where it was withheld."""


def parts(given: "nw.DataFrame[Any]", plan: PolicyPlan, query: str) -> Iterator[Answered]:
    """The releases of each policy that asks this. InvalidSetting: none does, or others did."""
    of_each = asking(given, plan, query)
    if any(is_list(asked.query) for _, asked, _ in of_each):
        problem = "has several numbers for each window"
        raise InvalidSetting("query", problem, "name another; `spread` reads layers")
    unbiased = given[f"{query}{UNBIASED}"].to_numpy().astype(np.float64)
    for policy, asked, rows in of_each:
        yield Answered(policy, asked, rows, unbiased[rows])


def asking(
    given: "nw.DataFrame[Any]", plan: PolicyPlan, query: str
) -> list[tuple[Policy, Question, Integers]]:
    """Each policy that asks this, and the rows that are its; InvalidSetting: as `parts`."""
    policies = {policy.id: policy for policy in plan.policies}
    ids = np.array(given["policy"].to_list(), dtype=np.object_)
    if unknown := set(ids.tolist()) - policies.keys():
        instead = "pass the plan that they were released under"
        raise InvalidSetting("plan", f"is not that of releases under {min(unknown)}", instead)
    found = [
        (policy, asked, np.flatnonzero(ids == policy.id))
        for policy in policies.values()
        if policy.id in ids
        for asked in policy.questions
        if asked.query.name == query
    ]
    if not found and len(ids):
        problem = "is not in the plan of these releases"
        raise InvalidSetting("query", problem, "name another of its queries")
    return found


def whose(given: "nw.DataFrame[Any]") -> str:
    """The column that says whose a release is: a meter's, or a group's."""
    return "group_id" if "group_id" in given.columns else "meter_id"


def alike(given: "nw.DataFrame[Any]", keys: Sequence[str], rows: Integers) -> Iterator[Integers]:
    """Where among the rows each combination of cells stands; in the order of the first."""
    columns = [np.array(given[key].to_list(), dtype=np.object_)[rows].tolist() for key in keys]
    places: dict[tuple[Any, ...], list[int]] = {}
    for place, key in enumerate(zip(*columns, strict=True)):
        places.setdefault(key, []).append(place)
    yield from map(np.array, places.values())


class Made:
    """Rows of an answer: each has cells of the given frame's row that it is of, and its own."""

    def __init__(self, kinds: dict[str, CellKind]) -> None:
        self._kinds = kinds
        self._firsts: list[int] = []
        self._rows: list[tuple[float, ...]] = []

    def add(self, first: int, *cells: float) -> None:
        """One more."""
        self._firsts.append(int(first))
        self._rows.append(cells)

    def frame(self, given: "nw.DataFrame[Any]", keys: Sequence[str]) -> Any:  # noqa: ANN401 - as given
        """All of them."""
        cells = np.array(self._rows, dtype=np.float64).reshape(-1, len(self._kinds)).T
        whole = zip(self._kinds.items(), cells, strict=True)
        columns = {
            name: its.astype(np.int64) if kind == "whole" else its for (name, kind), its in whole
        }
        own = frame_of(columns, self._kinds, given.implementation)
        rows = nw.maybe_reset_index(given[self._firsts])
        about = {key: rows[key] for key in keys}
        about |= {name: own[name] for name in own.columns}
        return nw.from_dict(about).to_native()


def beside(given: "nw.DataFrame[Any]", columns: Mapping[str, Column]) -> Any:  # noqa: ANN401 - as given
    """The same frame, and these columns of numbers."""
    own = frame_of(columns, dict.fromkeys(columns, "number"), given.implementation)
    return given.with_columns(own[name] for name in own.columns).to_native()


def milliseconds(moments: "nw.Series[Any]") -> Integers:
    """Since the epoch."""
    return moments.dt.timestamp("ms").to_numpy().astype(np.int64)
