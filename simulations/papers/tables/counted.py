"""Rows of the fifth paper's tables: capacities, vertices and kernels, type by type."""

import math
from collections.abc import Callable

from simulations.papers import capacities, kernels, vertices
from simulations.papers.capacities import PrivacyType
from simulations.papers.row import Row, number
from simulations.papers.vertices import Distances

HERE = "simulations/papers/"
LN2 = math.log(2)

PRINTED: dict[str, dict[int, tuple[str, str]]] = {
    "Table 4a": {
        2: ("1.33", "0.33"),
        3: ("1.67", "0.5"),
        4: ("2.0", "0.67"),
        5: ("2.33", "0.75"),
        6: ("2.67", "0.83"),
    },
    "Table 5a": {2: ("1.33", "0.33"), 3: ("1.5", "0.4"), 4: ("1.6", "0.43"), 5: ("1.67", "0.44")},
    "Table 6a": {2: ("1.68", "0.48"), 3: ("2.5", "0.62"), 4: ("3.53", "0.79")},
    "Table 7a": {2: ("1.78", "0.56"), 3: ("2.37", "0.70"), 4: ("3.16", "0.80")},
}
"""Multiplicative and additive capacities at ε = ln 2, to the digits that are printed."""
COUNTED: dict[str, dict[int, tuple[str, str]]] = {
    "Table 4a": {
        2: ("2", "1"),
        3: ("4", "2"),
        4: ("8", "11"),
        5: ("16", "187"),
        6: ("32", "15,346"),
    },
    "Table 5a": {2: ("2", "1"), 3: ("6", "5"), 4: ("14", "41"), 5: ("30", "1,291")},
    "Table 6a": {2: ("18", "403"), 3: ("4,798", "")},
    "Table 7a": {2: ("6", "4"), 3: ("38", "29,275")},
}
"""Vertices and kernels at ε = ln 2."""
SLOW = {("Table 6a", 3), ("Table 7a", 3), ("Table 4a", 6)}
WHY = {
    (
        "Table 6a",
        3,
        "vertices",
    ): "exactly, and the same from a convex hull; that 4,798 counts these "
    "is our reading of a number that was noted without its caption",
    (
        "Table 7a",
        3,
        "kernels",
    ): "in whole numbers; every set of eight vertices and fewer was once "
    "tried by itself, and gave the same. The number depends on ε through what cancels, and in "
    "doubles a set that is dependent may look independent",
}
TYPES: dict[str, Callable[[int], PrivacyType]] = {
    "Table 4a": capacities.line,
    "Table 5a": capacities.discrete,
    "Table 6a": lambda side: capacities.euclidean(side, side),
    "Table 7a": capacities.cube,
}
DISTANCES: dict[str, Callable[[int], Distances]] = {
    "Table 4a": lambda size: vertices.manhattan(vertices.lattice(size)),
    "Table 5a": vertices.discrete,
    "Table 6a": lambda side: vertices.euclidean(vertices.lattice(side, side)),
    "Table 7a": lambda bits: vertices.manhattan(vertices.lattice(*[2] * bits)),
}


def rows(*, quick: bool) -> list[Row]:
    """Capacities, then counts; quick leaves the largest types out."""
    return [
        *(row for table in PRINTED for row in _capacities(table)),
        *(row for table in COUNTED for row in _counts(table, quick=quick)),
    ]


def _capacities(table: str) -> list[Row]:
    made: list[Row] = []
    for size, printed in PRINTED[table].items():
        of = TYPES[table](size)
        found = capacities.capacities(of, LN2)
        made += [
            number(table, f"{of.name}: {kind} capacity", text, ours, HERE + "capacities.py")
            for kind, text, ours in zip(
                ("multiplicative", "additive"),
                printed,
                (found.multiplicative, found.additive),
                strict=True,
            )
        ]
    return made


def _counts(table: str, *, quick: bool) -> list[Row]:
    made = []
    for size, (corners, sets) in COUNTED[table].items():
        if quick and (table, size) in SLOW:
            continue
        of, found = TYPES[table](size), vertices.vertices(DISTANCES[table](size))
        made.append(
            number(
                table,
                f"{of.name}: vertices",
                corners,
                len(found),
                HERE + "vertices.py",
                WHY.get((table, size, "vertices"), ""),
            )
        )
        if sets:
            columns = (kernels.powers_of_roots if table == "Table 6a" else kernels.powers)(found)
            count = len(kernels.kernels(columns))
            made.append(
                number(
                    table,
                    f"{of.name}: kernels",
                    sets,
                    count,
                    HERE + "kernels.py",
                    WHY.get((table, size, "kernels"), ""),
                )
            )
    return made
