"""What the page quotes is what the product says."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "deploy" / "troubleshooting.md").read_text(encoding="utf-8")
QUOTED = re.findall(r"^\| `([^`]+)`", PAGE, flags=re.MULTILINE)


def said() -> str:
    """Every text in the source, with … for what is filled in."""
    texts = []
    for file in sorted((ROOT / "meteragent").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = [
                    part.value if isinstance(part, ast.Constant) else "…" for part in node.values
                ]
                texts.append("".join(map(str, parts)))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.append(node.value)
    return "\n".join(texts)


def test_the_page_quotes_messages() -> None:
    assert len(QUOTED) > 10


@pytest.mark.parametrize("message", QUOTED)
def test_every_quoted_message_can_be_said(message: str) -> None:
    parts = [part.strip(" ;:") for part in message.split("…")]
    source = said()
    assert all(part in source for part in parts), message
