"""What is written from the code: `python -m tests.docs.pages` writes it anew.

The reference pages as a whole; of CONTRIBUTING what stands between two marks.
"""

from __future__ import annotations

import json
from argparse import Action, ArgumentParser, _SubParsersAction
from pathlib import Path
from typing import TYPE_CHECKING

from meteragent.commands.exit_codes import Exit
from meteragent.commands.parser import parser
from meteragent.commands.schema import SCHEMAS
from meteragent.config.reference import reference
from meteragent.stream.partition import diagram
from tests.docs import completions
from tests.docs.house import house, rooms
from tests.docs.metrics_page import metrics

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "reference"
DRAWN_IN = (ROOT / "CONTRIBUTING.md",)
_SCHEMAS = """\
# Messages

What is read and written, as JSON Schemas; `meteragent schema NAME` prints one. A record's key is
its meter's id. A change that could break a reader gives the schema a new number.
"""
_COMMANDS = """\
# Commands

All commands and their arguments; `meteragent COMMAND --help` says the same. `meteragent completion
bash` prints what a shell needs to complete them; so do `zsh` and `fish`.
"""
_ABOUT = {
    "reading": "What comes in: a single reading or an interval block of them, as JSON.",
    "release": "What is published of a meter's window.",
    "policy": "What releases' policy ids stand for; published once for each policy.",
    "reject": "Where a record stood that was rejected, and why; never what it said.",
    "explanation": "What `meteragent explain --json` says.",
}


def pages() -> dict[str, str]:
    """File name -> content."""
    return {
        "commands.md": commands(),
        "configuration.md": reference(),
        "metrics.md": metrics(),
        "schemas.md": schemas(),
    }


def drawn_anew(page: str) -> str:
    """A page, with what stands between marks drawn from the code as it is."""
    for name, drawn in (("house", house), ("rooms", rooms), ("life", _life)):
        begin, end = f"<!-- {name}: drawn from the code -->\n", f"<!-- end of {name} -->"
        if begin in page:
            before, _, rest = page.partition(begin)
            page = f"{before}{begin}{drawn()}{end}{rest.partition(end)[2]}"
    return page


def _life() -> str:
    return f"```mermaid\n{diagram()}```\n"


def commands() -> str:
    """Every command, its arguments, and how it ends."""
    codes = [f"| {code.value} | {code.meaning} |" for code in Exit]
    ends = ["## Exit codes", "\n".join(["| code | meaning |", "|---|---|", *codes])]
    return "\n\n".join([_COMMANDS.strip(), *_described(parser()), *ends]) + "\n"


def _described(command: ArgumentParser, meaning: str = "") -> Iterator[str]:
    groups = [a for a in command._actions if isinstance(a, _SubParsersAction)]
    if not groups:
        yield f"## `{command.prog}`"
        yield f"{meaning[:1].upper()}{meaning[1:]}."
        if rows := [_row(a) for a in command._actions if a.dest != "help"]:
            yield "\n".join(["| argument | |", "|---|---|", *rows])
    for group in groups:
        help_of = {choice.dest: choice.help or "" for choice in group._choices_actions}
        for name, inner in group.choices.items():
            yield from _described(inner, help_of[name])


def _row(action: Action) -> str:
    value = "" if action.nargs == 0 else _value(action)
    flags = ", ".join(f"`{flag}{value and ' ' + value}`" for flag in action.option_strings)
    needed = " Required." if action.required and action.option_strings else ""
    meaning = (action.help or "").replace("%%", "%").replace("|", "\\|")
    return f"| {flags or f'`{value}`'} | {meaning[:1].upper()}{meaning[1:]}.{needed} |"


def _value(action: Action) -> str:
    if action.choices and not action.metavar:
        return "\\|".join(map(str, action.choices))
    return str(action.metavar or action.dest.upper())


def schemas() -> str:
    """Every schema."""
    parts = [_SCHEMAS.strip()]
    for name, schema in SCHEMAS.items():
        written = json.dumps(schema(), indent=2, ensure_ascii=False)
        parts += [f"## `{name}`", _ABOUT[name], f"```json\n{written}\n```"]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    completions.write()
    for file, content in pages().items():
        (FOLDER / file).write_text(content, "utf-8")
    for path in DRAWN_IN:
        path.write_text(drawn_anew(path.read_text("utf-8")), "utf-8")
