"""The first lines of an input -> what stands in which field, whatever the input is."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import dropwhile
from typing import Any

MOST_LINES = 2000
_MOST_FIELDS = 500
_DELIMITERS = {"\t": "tab", ";": ";", ",": ",", " ": "space"}


@dataclass(frozen=True, slots=True)
class Fields:
    """What stands in each field of the records, in their order; a field may be a path."""

    what: str
    """What the input is, in words."""
    values: dict[str, list[str]]
    settings: dict[str, Any]
    """What `[input]` has to say for the fields to be found at all."""
    sample: list[bytes]
    """The lines themselves."""


def fields_of(text: bytes) -> Fields:
    """Of whole first lines."""
    lines = text.split(b"\n")[:-1][:MOST_LINES]
    first = next((line.lstrip() for line in lines if line.strip()), b"")
    if first.startswith(b"{"):
        return _of_documents(lines)
    return _of_table(lines)


def _of_documents(lines: list[bytes]) -> Fields:
    values: dict[str, list[str]] = {}
    read = 0
    for line in lines:
        try:
            document = json.loads(line)
        except ValueError:
            continue
        read += isinstance(document, dict)
        for path, value in _flat("", document):
            if path in values or len(values) < _MOST_FIELDS:
                values.setdefault(path, []).append(value)
    return Fields(f"JSON, {read} of {len(lines)} lines looked at", values, {}, lines)


def _flat(path: str, found: object) -> Iterator[tuple[str, str]]:
    """Every value with its path; of lists, all entries under one."""
    if isinstance(found, dict):
        for key, inner in found.items():
            step = key.replace("\\", "\\\\").replace(".", "\\.")
            if "[" not in key and "]" not in key and key:
                yield from _flat(f"{path}.{step}".removeprefix("."), inner)
    elif isinstance(found, list):
        for inner in found:
            yield from _flat(f"{path}[]", inner)
    else:
        yield path, "" if found is None else str(found)


def _of_table(lines: list[bytes]) -> Fields:
    texts = [line.decode("utf-8", "replace") for line in lines]
    delimiter, width = _shape(texts)
    rows = [[cell.strip(' "') for cell in text.split(delimiter)] for text in texts]
    table = [*dropwhile(lambda row: len(row) != width, rows)]
    body = [row for row in table if len(row) == width]
    header = bool(body) and not any(map(_in_figures, body[0]))
    settings = _settings(len(rows) - len(table), delimiter, header=header)
    names = body.pop(0) if header else [str(at + 1) for at in range(width)]
    values = dict(zip(names, map(list, zip(*body, strict=True)), strict=False))
    what = f"a table of {width} columns with {_DELIMITERS[delimiter]!r} between them"
    return Fields(what, values, settings, lines)


def _settings(skipped: int, delimiter: str, *, header: bool) -> dict[str, Any]:
    """What has to be said of a table's shape."""
    found: dict[str, Any] = {"skip_lines": skipped} if skipped else {}
    if not header:
        found["header"] = False
    if delimiter == " " or (delimiter != "," and skipped):
        found["delimiter"] = _DELIMITERS[delimiter]
    return found


def _shape(texts: list[str]) -> tuple[str, int]:
    """What stands between the columns, and how many most lines have."""
    best, shape = 0, (",", 1)
    for delimiter in _DELIMITERS:
        counts = Counter(text.count(delimiter) for text in texts if text.strip())
        [(count, lines)] = counts.most_common(1) or [(0, 0)]
        if count and lines > best:
            best, shape = lines, (delimiter, count + 1)
    return shape


def _in_figures(text: str) -> bool:
    """Whether it begins as numbers and times do."""
    return text[:1].isdigit() or (text[:1] in "+-." and text[1:2].isdigit())
