"""Which columns a table of releases has, and of what kind they are.

They are those of `sanitize --format csv`, with types: times instead of milliseconds, numbers
instead of text, nothing where a cell would be empty.
"""

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np

from meteragent.formats.encoder import is_list, name_of
from meteragent.privacy.policy import Policy
from meteragent.privacy.terms import JOINT

CellKind = Literal["text", "time", "whole", "number", "numbers"]
UNBIASED, EPSILON = "_unbiased", "_epsilon"
TYPES: dict[CellKind, type[object]] = {"time": np.int64, "whole": np.int64, "number": np.float64}
_ABOUT: dict[str, CellKind] = {
    "window_start": "time",
    "window_end": "time",
    "status": "text",
    "withheld": "text",
    "unit": "text",
    "policy": "text",
}
_OF_METERS: dict[str, CellKind] = {
    "meter_id": "text",
    **_ABOUT,
    "readings": "text",
    "slots": "whole",
}
_OF_GROUPS: dict[str, CellKind] = {"group_id": "text", **_ABOUT, "homes": "whole"}


def columns_of(policies: Iterable[Policy]) -> dict[str, CellKind]:
    """Which columns there are: those about windows, and those of what policies ask.

    Precondition: the policies are of meters, or all of them of groups.
    """
    policies = list(policies)
    kinds = _about(policies)
    for asked in (asked for policy in policies for asked in policy.questions):
        answer: CellKind = "numbers" if is_list(asked.query) else "number"
        name = asked.query.name
        kinds |= {name: answer, f"{name}{UNBIASED}": answer, f"{name}{EPSILON}": "text"}
    if any(policy.noise == JOINT for policy in policies):
        kinds[f"{JOINT}{EPSILON}"] = "text"
    return kinds


def _about(policies: list[Policy]) -> dict[str, CellKind]:
    """What is said of every window."""
    if {*map(name_of, policies)} == {"group_id"}:
        return dict(_OF_GROUPS)
    exact = any(policy.readings == "exact" for policy in policies)
    return {**_OF_METERS, "readings": "number" if exact else "text"}


def row_of(kinds: dict[str, CellKind], document: dict[str, Any]) -> dict[str, Any]:
    """What a release says in each of these columns; None where it says nothing."""
    parts = {"": "values", UNBIASED: "unbiased", EPSILON: "epsilon"}
    said = {
        f"{name}{suffix}": told
        for suffix, part in parts.items()
        for name, told in document[part].items()
    }
    return {name: said.get(name, document.get(name)) for name in kinds}
