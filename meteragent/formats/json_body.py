"""JSON -> documents: of one message, or of many that are parsed together."""

from collections.abc import Sequence
from typing import Any

from pydantic_core import from_json

from meteragent.formats.json_one import MOST_BYTES, BadRecord, is_too_large, is_utf8
from meteragent.stream.readings import Reason

BETWEEN = "\x7f"
"""Stands between documents that are parsed together, and in none of them: no meter's id has it."""
_LETTER = BETWEEN.encode()
_BETWEEN = f',"{BETWEEN}",'.encode()
_ESCAPED = b"\\u007"
"""How its escape begins, whatever the case of its last letter."""


class JsonBody:
    """Reads JSON."""

    def __init__(self, max_bytes: int = MOST_BYTES) -> None:
        self._max_bytes = max_bytes

    def one(self, message: bytes | None) -> dict[str, Any]:
        """What it says. BadRecord: it is no JSON, or no object."""
        message = complete(message, self._max_bytes)
        try:
            document = from_json(message, cache_strings="keys")
        except ValueError:
            raise BadRecord(Reason.NOT_JSON if is_utf8(message) else Reason.NOT_UTF8) from None
        if not isinstance(document, dict):
            raise BadRecord(Reason.WRONG_SHAPE)
        return document

    def many(self, messages: Sequence[bytes]) -> list[dict[str, Any]] | None:
        """Each message's document, or None: they are not surely what each is by itself.

        Why they are what they are by themselves: what stands between them holds a letter that no
        message has, neither as it is nor by its escape. So it is a text, wherever it is read, and
        nothing else becomes that text. Of the list that all make together it is every second entry,
        as often as it was written: so each stands at the outermost level, and between two of them
        is just one document. ValueError: they are no JSON.
        """
        text = b"".join(messages)
        if len(text) > self._max_bytes and any(is_too_large(m, self._max_bytes) for m in messages):
            return None
        if _LETTER in text or (b"\\" in text and _ESCAPED in text):
            return None
        found = from_json(b"[" + _BETWEEN.join(messages) + b"]", cache_strings="keys")
        if found[1::2] != [BETWEEN] * (len(messages) - 1):
            return None
        documents = found[::2]
        return documents if {*map(type, documents)} == {dict} else None


def complete(message: bytes | None, most: int) -> bytes:
    """The same message. BadRecord: there is none, or it is not worth parsing."""
    if not message:
        raise BadRecord(Reason.EMPTY)
    if is_too_large(message, most):
        raise BadRecord(Reason.TOO_LARGE)
    return message
