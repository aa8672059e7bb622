"""Decided windows as the columns of a table, in the order in which they are published.

The columns are those of `sanitize --format csv`, with types: times instead of milliseconds,
numbers instead of text, nothing where a cell would be empty.
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meteragent.formats.encoder import counts_are_told, is_list, name_of, readings_of
from meteragent.formats.release_columns import EPSILON, TYPES, UNBIASED, CellKind
from meteragent.privacy.arrays import Mask
from meteragent.privacy.domain import Watts
from meteragent.stream.releases import Kind, Releases, Step, Withheld, stages

Column = NDArray[Any]
"""Of objects, where it is text or lists of numbers, and None is nothing; of floats, NaN is."""


def table(kinds: dict[str, CellKind], steps: Iterable[Step]) -> dict[str, Column]:
    """What was decided, a row for each window."""
    ordered = [part for stage in stages(steps) for part in _in_order(kinds, [*stage])]
    return {
        name: np.concatenate([_nothing(kind, 0), *(part[name] for part in ordered)])
        for name, kind in kinds.items()
    }


def _in_order(kinds: dict[str, CellKind], steps: list[Step]) -> list[dict[str, Column]]:
    """The windows of one stage, in the order of `releases.Document`."""
    places = [np.full(len(step.moments), step.place) for step in steps]
    keys: list[Column] = [
        np.concatenate([np.array(step.releases.meters, dtype=np.str_) for step in steps]),
        np.concatenate([step.releases.ends for step in steps]),
        np.concatenate(places),
        np.concatenate([step.dues for step in steps]),
        np.concatenate([step.moments for step in steps]),
    ]
    order = np.lexsort(keys)
    parts = [(len(step.moments), _cells(kinds, step.releases)) for step in steps]
    return [
        {
            name: np.concatenate(
                [cells.get(name, _nothing(kind, count)) for count, cells in parts]
            )[order]
            for name, kind in kinds.items()
        }
    ]


def _cells(kinds: dict[str, CellKind], releases: Releases) -> dict[str, Column]:
    """What is said of some windows of one policy; what is not said of any is left out."""
    policy, released = releases.policy, releases.released
    many, answered = len(released), released.any(axis=1)
    cells: dict[str, Column] = {
        name_of(policy): np.array(releases.meters, dtype=np.object_),
        "window_start": releases.starts,
        "window_end": releases.ends,
        "status": np.where(answered, _text("released", many), _text("suppressed", many)),
        "withheld": np.array([str(why) or None for why in releases.withheld], dtype=np.object_),
        "unit": _text(policy.domain.unit, many),
        "policy": _text(policy.id, many),
        "slots": np.broadcast_to(np.asarray(releases.slots, dtype=np.int64), many),
    }
    if releases.homes is not None:
        cells["homes"] = releases.homes
    elif counts_are_told(policy, Kind((0,), Withheld.NOTHING)):
        cells["readings"] = counts = _nothing(kinds["readings"], many)
        counts[answered] = np.array(readings_of(releases), dtype=np.object_)[answered]
    for charge in policy.charges:
        epsilon = _text(charge.epsilon, many)
        epsilon[~released[:, charge.first : charge.queries].any(axis=1)] = None
        cells[f"{charge.name}{EPSILON}"] = epsilon
    return cells | _answers(releases)


def _answers(releases: Releases) -> dict[str, Column]:
    policy, released, cells = releases.policy, releases.released, dict[str, Column]()
    outputs = [asked.query.outputs(policy.slots) for asked in policy.questions]
    spans = pairwise([0, *np.cumsum(outputs).tolist()])
    for place, (asked, span) in enumerate(zip(policy.questions, spans, strict=True)):
        for suffix, values in (("", releases.values), (UNBIASED, releases.unbiased)):
            some = values[:, slice(*span)], released[:, place]
            shown = (
                _lists(releases, *some)
                if is_list(asked.query)
                else np.where(some[1], some[0][:, 0], np.nan)
            )
            cells[f"{asked.query.name}{suffix}"] = shown
    return cells


def _lists(releases: Releases, values: Watts, granted: Mask) -> Column:
    """A list for each window, with None where its gaps are public."""
    shown = values.astype(np.object_)
    if releases.policy.presence == "public":
        shown[~releases.present] = None
    lists = np.full(len(granted), None, dtype=np.object_)
    for window in np.flatnonzero(granted).tolist():
        lists[window] = shown[window].tolist()
    return lists


def _text(text: str, many: int) -> Column:
    return np.full(many, text, dtype=np.object_)


def _nothing(kind: CellKind, many: int) -> Column:
    if kind == "number":
        return np.full(many, np.nan)
    return np.full(many, None if kind not in TYPES else 0, dtype=TYPES.get(kind, np.object_))
