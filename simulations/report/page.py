"""The page: chapters of results as one HTML text without anything outside it."""

import re
from base64 import b64encode
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from simulations.report.recordings import SOURCES
from simulations.report.words import CHAPTERS, GLOSSARY, Chapter

Document = dict[str, Any]

TITLE = "What meteragent protects, and what it costs"
RECORDINGS = (
    "What real homes and sets measured is not part of the software; who wants the same numbers "
    "needs the same files. In brackets: how the SHA-256 of each begins, unpacked."
)
MEANS = "uses"
"""The chapter that comes first, before the contents of all others."""
OF_NO_USE = 0.1
STREET = ": of use in sums over many homes only"
"""What is said of a setting under which even a month of one home is off by more than a tenth."""
NOTE = (
    "How often the best attacker is right, who knows all else in the home, is worked out from the "
    "law of the noise and rounded up: no trials are made, and nobody does better. One event is one "
    "use, one day or one evening. A setting is chosen so that this attacker is right in at most "
    "54 % of cases where guessing is right in 50 %, and at most seven times where guessing is six. "
    "What people do every day adds up: two more columns are about a week and four weeks of it."
)


def page(documents: Sequence[Document], folder: Path) -> str:
    """Precondition: the pictures that the documents name lie in the folder."""
    chapters = [(name, found) for name in _order(documents) if (found := _of(name, documents))]
    css = (files("simulations.report") / "style.css").read_text("utf-8")
    body = [
        f"<h1>{TITLE}</h1>",
        _introduction(documents),
        *(_chapter(name, found, folder) for name, found in chapters if name == MEANS),
        _settings(documents),
        _contents([name for name, _ in chapters]),
        *(_chapter(name, found, folder) for name, found in chapters if name != MEANS),
        _bills(documents),
        _glossary(),
        _recordings(),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{TITLE}</title>\n<style>\n{css}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(body)
        + "\n</main>\n</body>\n</html>\n"
    )


def _order(documents: Sequence[Document]) -> list[str]:
    """The chapters that are known, in their order, and then all others."""
    there = [_chapter_of(document) for document in documents]
    return [*(n for n in CHAPTERS if n in there), *sorted({*there} - CHAPTERS.keys())]


def _chapter_of(document: Document) -> str:
    name: str = document["simulation"].partition("-")[0]
    return name


def _of(name: str, documents: Sequence[Document]) -> list[Document]:
    return [document for document in documents if _chapter_of(document) == name]


def _said(name: str) -> Chapter:
    return CHAPTERS.get(name, Chapter(name.capitalize(), ""))


def _introduction(documents: Sequence[Document]) -> str:
    pictures = sum(len(document["figures"]) for document in documents)
    return (
        "<p class=lead>Smart meters tell more than a bill needs. <em>meteragent</em> releases "
        "averages of a home's power with exactly as much noise as a promised privacy asks for. "
        "This page shows what attackers make of the readings without it, what they make of what "
        "it releases, and what the released data are still good for.</p>\n"
        f"<p>Its {pictures} pictures come from simulations and from public recordings of real "
        "homes, and what meteragent releases in them was released by the program itself, unless a "
        "caption says otherwise. Below each picture stands the command that makes it again, to the "
        "last byte.</p>"
    )


def _contents(names: Sequence[str]) -> str:
    items = [f'<li><a href="#{name}">{escape(_said(name).title)}</a></li>' for name in names]
    last = (("words", "Words used here"), ("recordings", "Recordings"))
    items += [f'<li><a href="#{name}">{title}</a></li>' for name, title in last]
    inner = "\n".join(items)
    return f"<nav aria-label=Contents><ol>\n{inner}\n</ol></nav>"


def _settings(documents: Sequence[Document]) -> str:
    """The settings that were chosen, at a glance."""
    rows = [_setting(document) for document in _of("choose", documents)]
    if not rows:
        return ""
    head = "".join(
        f'<th scope="col">{text}</th>'
        for text in (
            "to hide",
            "window",
            "released",
            "typical error of one release",
            "best attack on one event",
            "guessing",
            "on a week of it",
            "on four weeks",
            "month's total of a 400 W home, 95 % within",
        )
    )
    return (
        "<h2>Settings at a glance</h2>\n<div class=wide tabindex=0><table>\n<thead><tr>"
        f"{head}</tr></thead>\n<tbody>\n" + "\n".join(rows) + "\n</tbody></table></div>\n"
        f"<p class=made>{NOTE}</p>"
    )


def _setting(document: Document) -> str:
    results = document["results"]
    hides = f'<th scope="row">{escape(results["hides"])}</th>'
    if results["chosen"] is None:
        allowed = f"{results['max_error_watts']:g}"
        told = f"no setting with an error of {allowed} W or less is enough; see the costs"
        return f"<tr>{hides}<td colspan=8>{told} below</td></tr>"
    policy, evidence = results["chosen"]["policy"], results["chosen"]["evidence"]
    cells = (
        policy["window"],
        ", ".join(policy["queries"]),
        evidence["error"].replace("kW", " kW").replace("W", " W").replace("k W", "kW"),
        f"{_percent(evidence['success'])} ({evidence['contest']})",
        _percent(evidence["chance"]),
        _percent(evidence["week"]),
        _percent(evidence["weeks"]),
        _month(results),
    )
    return f"<tr>{hides}{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"


def _month(results: dict[str, Any]) -> str:
    """How far off a month of one home is; of a feeder no home is released by itself."""
    if "month_error" not in results:
        return "for sums of homes alone"
    off: float = results["month_error"]
    return _percent(off) + STREET * (off > OF_NO_USE)


def _bills(documents: Sequence[Document]) -> str:
    """What is given away where a month's sum of one home is to be right."""
    rows: list[str] = []
    for document in _of("choose", documents):
        bills = document["results"].get("bills", [])
        stake = escape(document["results"]["hides"])
        first = f'<th scope="rowgroup" rowspan="{len(bills)}">{stake}</th>'
        rows += [f"<tr>{'' if at else first}{_bill(bill)}</tr>" for at, bill in enumerate(bills)]
    if not rows:
        return ""
    titles = ("what is at stake", "window", "noise", "least resisted", "best attack", "guessing")
    head = "".join(f'<th scope="col">{text}</th>' for text in titles)
    return (
        "<h2>What a precise bill would give away</h2>\n"
        "<p>As much noise as leaves a month's total of a 400 W home within 1 % in 95 % of months, "
        "and what the best attack makes of it. Who needs such totals of single homes has to say "
        "which of these may be known; those of enough homes together are always right.</p>\n"
        f"<div class=wide tabindex=0><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n"
        + "\n".join(rows)
        + "\n</tbody></table></div>"
    )


def _bill(bill: dict[str, Any]) -> str:
    worst = bill["worst"]
    cells = (
        bill["window"],
        f"{bill['noise_watts']} W",
        worst["contest"],
        _percent(worst["success"]),
        _percent(worst["chance"]),
    )
    return "".join(f"<td>{escape(cell)}</td>" for cell in cells)


def _percent(share: str | float) -> str:
    return f"{100 * float(share):.3g} %"


def _chapter(name: str, documents: Sequence[Document], folder: Path) -> str:
    said = _said(name)
    parts = [f'<section aria-labelledby="{name}">', f'<h2 id="{name}">{escape(said.title)}</h2>']
    if said.lead:
        parts.append(f"<p>{_prose(said.lead)}</p>")
    for document in documents:
        parts += [_figure(document, figure, folder) for figure in document["figures"]]
    return "\n".join([*parts, "</section>"])


def _figure(document: Document, figure: dict[str, str], folder: Path) -> str:
    data = b64encode((folder / figure["file"]).read_bytes()).decode("ascii")
    title, caption = _prose(figure["title"]), _prose(figure["caption"])
    said = escape(f"{figure['title']}: {figure['caption']}".replace("`", ""))
    made = f"<code>{escape(document['command'])}</code>, seed {document['seed']}"
    if document["quick"]:
        made += " (a quick run: few repetitions, wide bands)"
    return (
        f"<figure tabindex=0>\n<h3>{title}</h3>\n"
        f'<img src="data:image/png;base64,{data}" alt="{said}">\n'
        f"<figcaption>{caption}<p class=made>Made by {made}</p></figcaption>\n</figure>"
    )


def _prose(text: str) -> str:
    """For HTML, with what stands in code marks as code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(text))


def _recordings() -> str:
    """Whose recordings results were made with, and which: their licences ask for it."""
    parts = ['<section><h2 id="recordings">Recordings</h2>', f"<p>{RECORDINGS}</p>", "<dl>"]
    for source in SOURCES:
        files = ", ".join(f"{name} ({digest})" for name, digest in source.files)
        parts.append(f"<dt>{escape(source.name)}</dt>")
        parts += [
            f"<dd>{escape(line)}</dd>"
            for line in (source.origin, f"Licence: {source.licence}.", source.notice, files)
        ]
    return "\n".join([*parts, "</dl></section>"])


def _glossary() -> str:
    terms = [f"<dt>{word}</dt><dd>{escape(meaning)}</dd>" for word, meaning in GLOSSARY.items()]
    return "\n".join(
        ['<section><h2 id="words">Words used here</h2>', "<dl>", *terms, "</dl></section>"]
    )
