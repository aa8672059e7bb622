"""Telegrams of a meter's customer port (DSMR, P1) -> documents: framed and read by dsmr-parser.

A telegram without its checksum, or with another one, is none: a digit that was lost on the line
would be a reading that nobody can tell from others. What the parser says of a telegram stays as it
calls it; both tariffs together stand beside, added up as decimals.
"""

import json
import logging
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from dsmr_parser import telegram_specifications
from dsmr_parser.clients.telegram_buffer import TelegramBuffer
from dsmr_parser.exceptions import ParseError
from dsmr_parser.parsers import TelegramParser

_BELGIAN = "\n0-0:96.1.4("
_BEGINS = re.compile(r"^/", re.MULTILINE)
_TOTALS = ("ELECTRICITY_USED", "ELECTRICITY_DELIVERED")

logging.getLogger("dsmr_parser").disabled = True  # it quotes what it cannot read
logging.getLogger(TelegramParser.__module__).disabled = True


class Telegrams:
    """The telegrams of one input, in their order."""

    def __init__(self, content: bytes) -> None:
        text = content.decode("latin-1").replace("\r\n", "\n").rstrip("\n") + "\n"
        self._begun = len(_BEGINS.findall(text))
        self._buffer = TelegramBuffer()
        self._buffer.append(text.replace("\n", "\r\n"))  # checksums are of lines that end so
        self.damaged = 0
        """Begun, and not read: cut off, or not as their checksum says."""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """What each that is whole says."""
        self.damaged = self._begun
        for text in self._buffer.get_all():
            try:
                parser = TelegramParser(_specification(text))
                document = json.loads(parser.parse(text, throw_ex=True).to_json())
            except (ParseError, ValueError, ArithmeticError, LookupError):
                continue
            self.damaged -= 1
            yield document | dict(_totals(document))


def _specification(text: str) -> dict[str, Any]:
    found: dict[str, Any] = telegram_specifications.V5
    return telegram_specifications.BELGIUM_FLUVIUS if _BELGIAN in text else found


def _totals(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """What was counted under both tariffs together, where both say so in one unit."""
    for name in _TOTALS:
        tariffs = [document.get(f"{name}_TARIFF_{n}") for n in (1, 2)]
        shown = [one for one in tariffs if one is not None]
        if len(shown) == len(tariffs) and len({one["unit"] for one in shown}) == 1:
            total = sum(Decimal(repr(one["value"])) for one in shown)
            yield name, {"value": float(total), "unit": shown[0]["unit"]}
