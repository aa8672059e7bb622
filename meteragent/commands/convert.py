"""`convert`: a document that cannot be read line by line -> lines of JSON."""

import json
import sys
from argparse import Namespace
from contextlib import closing
from decimal import Decimal

from meteragent.commands.exit_codes import Exit
from meteragent.files.documents import Converter
from meteragent.files.source import Source


def run(arguments: Namespace) -> Exit:
    """Write what a document holds to standard output, for `sanitize -` to read."""
    with closing(Source(arguments.input)) as source:
        content = b"".join(block.text for block in source.blocks())
    converter = Converter(arguments.input, content)
    written = 0
    for document in converter.lines():
        sys.stdout.write(f"{json.dumps(document, default=_number, ensure_ascii=False)}\n")
        written += 1
    if converter.left_out:
        left_out = f"{converter.left_out} channels do not hold consumption of active energy"
        sys.stderr.write(f"meteragent: {left_out}, and are left out\n")
    if converter.damaged:
        problem = "telegrams are cut off or have a wrong checksum, and are left out"
        sys.stderr.write(f"meteragent: {converter.damaged} {problem}\n")
    return Exit.OK if written else Exit.NOTHING


def _number(value: Decimal) -> float:
    """Every decimal here has few digits: it is the same one as a float."""
    return float(value)
