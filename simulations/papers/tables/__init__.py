"""A row for every numbered item of every paper, paper by paper."""

from dataclasses import dataclass
from typing import Any

from simulations.kit.command import Run
from simulations.papers.row import Row
from simulations.papers.tables import (
    broadening,
    linear_queries,
    regions_of_priors,
    spaces,
    universal,
)


def _numbered(kind: str, *numbers: int) -> list[str]:
    return [f"{kind} {number}" for number in numbers]


@dataclass(frozen=True)
class Paper:
    """A paper, and its numbered items up to the last that is known of."""

    key: str
    title: str
    items: list[str]


PAPERS = (
    Paper(
        "broadening",
        "Broadening the scope of differential privacy using metrics (2013)",
        [
            *_numbered("Definition", 1, 2, 3, 4, 5, 6),
            *_numbered("Proposition", *range(1, 11)),
            *_numbered("Theorem", 1, 2, 3, 4, 6, *range(8, 14)),
            *_numbered("Fact", 5, 7),
            *_numbered("Figure", 1, 2, 3),
            *_numbered("Example", 1, 2),
            "Section 6.2",
        ],
    ),
    Paper(
        "spaces",
        "Differential privacy in metric spaces (2015)",
        [
            *_numbered("Theorem", *range(1, 8)),
            *_numbered("Lemma", *range(1, 5)),
            *_numbered("Example", *range(1, 8)),
            "Corollary 1",
        ],
    ),
    Paper(
        "regions",
        "Generalized differential privacy: regions of priors (2014)",
        [
            *_numbered("Definition", *range(1, 8)),
            *_numbered("Proposition", *range(1, 8)),
            *_numbered("Lemma", *range(1, 5)),
            *_numbered("Theorem", 1, 2, 3),
            *_numbered("Corollary", 1, 2),
            *_numbered("Figure", *range(1, 7)),
            *_numbered("Example", 1, 2, 3),
            "Section 6",
            "Appendix B",
        ],
    ),
    Paper(
        "linear",
        "d_X-private mechanisms for linear queries (2020)",
        [
            *_numbered("Definition", 1, 2, 3),
            "Fact 1",
            *_numbered("Theorem", *range(1, 9)),
            *_numbered("Algorithm", 1, 2, 3),
            "Sections 4.1 to 4.4",
            "Appendix C",
        ],
    ),
    Paper(
        "universal",
        "Universal optimality and robust utility bounds for metric differential privacy (2022)",
        [
            *_numbered("Definition", *range(1, 9)),
            *_numbered("Theorem", *range(1, 14)),
            *_numbered("Corollary", 17, 18, 20, 22),
            *_numbered("Lemma", 19, 21),
            *(f"Table {table}a" for table in range(4, 8)),
            "Figure 8",
            "Matrices K_A and K_B",
            "Refinement",
            "Existence on the line",
            "Impossibility on the cube",
        ],
    ),
)


def rows(run: Run, signature: dict[str, Any]) -> dict[str, list[Row]]:
    """By paper; each draws from a generator of its own."""
    return {
        "broadening": broadening.rows(run.draw(5), signature),
        "spaces": spaces.rows(),
        "regions": regions_of_priors.rows(quick=run.quick),
        "linear": linear_queries.rows(run.draw(6)),
        "universal": universal.rows(run.draw(7), quick=run.quick),
    }


def unaccounted(made: dict[str, list[Row]]) -> list[str]:
    """Items of a paper without a row, and rows about items that the paper has not."""
    return sorted(
        f"{paper.title}: {item}"
        for paper in PAPERS
        for item in {*paper.items} ^ {item for row in made[paper.key] for item in row.items}
    )
