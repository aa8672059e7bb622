"""One page of all rows, written from the results alone."""

import re
from collections import Counter
from itertools import groupby
from typing import Any

from simulations.papers.row import Verdict

Document = dict[str, Any]

HEAD = """# Five papers, number by number

What the product is built on was proved elsewhere, in five papers. Each numbered item of theirs
that has a formula, a number, a table or a figure has a row here: computed again, or why not. The
papers are not part of this repository. What they print was noted when they were read; where a
wording or a number was not noted, the row says *not at hand* and gives what the known formula
comes to.

- **equal**: the printed number comes out, to its last printed digit.
- **holds**: what is claimed was tried in every case of a small world, in fractions where the paper
  is exact, and is true there.
- **differs**: what is printed does not come out; ours stands beside it, with what we know of why.
- **elsewhere**: the product rests on it, and its own tests check it.
- **not for meters**: it speaks of things that no meter does.
"""
COLUMNS = ("where", "what it says", "printed", "ours", "verdict", "lives in, or why not")


def page(command: str, results: Document, figures: list[dict[str, str]]) -> str:
    """Precondition: the results and figures of a run, as its JSON holds them."""
    papers, left = results["papers"], results["unaccounted"]
    return "\n".join(
        [
            HEAD,
            f"Made by `{command}`. Items without a row: {'; '.join(left) if left else 'none'}.",
            "",
            *_summary(papers),
            *_differences(papers),
            *(line for paper in papers for line in _paper(paper)),
            *(line for figure in figures for line in _figure(figure)),
        ]
    )


def _summary(papers: list[Document]) -> list[str]:
    counts = [Counter(row["verdict"] for row in paper["rows"]) for paper in papers]
    used = [str(verdict) for verdict in Verdict if any(count[verdict] for count in counts)]
    return [
        *_head(("paper", *used)),
        *(
            _line(paper["title"], *(str(count[verdict] or "") for verdict in used))
            for paper, count in zip(papers, counts, strict=True)
        ),
        "",
    ]


def _differences(papers: list[Document]) -> list[str]:
    """First of all, what a reader of a paper should know."""
    return [
        "What does not come out as printed:",
        "",
        *(
            f"- {_items(row['items'])} of *{paper['title']}*, {row['says']}: printed "
            f"“{row['printed']}”, ours {row['ours']}."
            for paper in papers
            for row in paper["rows"]
            if row["verdict"] == Verdict.DIFFERS
        ),
        "",
    ]


def _paper(paper: Document) -> list[str]:
    return [
        f"## {paper['title']}",
        "",
        *_head(COLUMNS),
        *(
            _line(
                _items(row["items"]),
                row["says"],
                row["printed"],
                row["ours"],
                f"**{row['verdict']}**" if row["verdict"] == Verdict.DIFFERS else row["verdict"],
                _lives(row["lives"]),
            )
            for row in paper["rows"]
        ),
        "",
    ]


def _figure(figure: dict[str, str]) -> list[str]:
    title = figure["title"]
    return [f"## {title}", "", f"![{title}]({figure['file']})", "", figure["caption"], ""]


def _head(columns: tuple[str, ...]) -> list[str]:
    return [_line(*columns), "|" + " --- |" * len(columns)]


def _line(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _items(items: list[str]) -> str:
    """`Theorem 1, 2; Fact 5` of three items."""
    split = [re.fullmatch(r"(\D+) (\d+a?)", item) for item in items]
    named = [
        (found[1], found[2]) if found else (item, "")
        for item, found in zip(items, split, strict=True)
    ]
    return "; ".join(
        f"{kind} {', '.join(number for _, number in group)}".strip()
        for kind, group in groupby(named, key=lambda pair: pair[0])
    )


def _lives(lives: str) -> str:
    """Paths as links from where the page lies, and everything else as it is."""
    return "; ".join(
        f"[{part.split('/')[-1].replace('::', ', ')}](../../{part.partition('::')[0]})"
        if ".py" in part
        else part
        for part in lives.split("; ")
    )
