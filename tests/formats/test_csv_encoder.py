"""A table of releases says what their JSON documents say."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import given

from meteragent.commands.arguments import OUTPUTS
from meteragent.commands.parser import parser
from meteragent.commands.sanitize import encoder_of
from meteragent.config import from_document
from meteragent.formats.csv_encoder import CsvEncoder
from meteragent.formats.encoder import Encoder
from meteragent.stream.releases import Withheld
from tests.formats.test_encoder import asking, decided, releases

if TYPE_CHECKING:
    from meteragent.stream.releases import Releases

PARTS = {"": "values", "_unbiased": "unbiased", "_epsilon": "epsilon"}
"""What a column's name ends with -> where its cells stand in a document."""


def row(document: dict[str, Any], columns: list[str]) -> dict[str, str]:
    """A document, cell by cell."""
    for suffix, part in PARTS.items():
        document |= {name + suffix: answer for name, answer in document.pop(part).items()}
    return {column: cell(document.get(column, "")) for column in columns}


def cell(value: object) -> str:
    return json.dumps(value, separators=(",", ":")) if isinstance(value, list) else str(value)


def table(encoder: CsvEncoder, made: Releases) -> csv.DictReader[str]:
    text = encoder.header + b"".join(line + b"\n" for line in encoder.encode(made))
    return csv.DictReader(io.StringIO(text.decode(), newline=""), strict=True)


def printable(made: Releases) -> Releases:
    """Ids as decoders let them through: without control characters."""
    return replace(made, meters=[m if m.isprintable() else 'm,"1"' for m in made.meters])


@given(decided().map(printable))
def test_rows_say_what_the_documents_say(made: Releases) -> None:
    rows = table(CsvEncoder([asking("max", "avg"), made.policy]), made)
    columns = list(rows.fieldnames or [])
    assert columns[9:15] == [f"{name}{part}" for name in ("max", "avg") for part in PARTS]
    assert len(columns) == len(set(columns))
    documents = [json.loads(document) for document in Encoder().encode(made)]
    assert list(rows) == [row(document, columns) for document in documents]


def test_a_row_reads_as_the_design_says() -> None:
    rules = asking("avg", "reading")
    made = replace(
        releases(rules, 1),
        meters=["m,1"],
        present=np.array([[True, False, True, True]]),
        values=np.array([[10.0, 1.0, 9.0, 2.0, 3.5]]),
        unbiased=np.array([[-3.25, 0.5, 9.0, 2.0, 3.0]]),
    )
    suppressed = replace(made, granted=np.array([0]), withheld=[Withheld.BUDGET])
    encoder = CsvEncoder([rules])
    assert encoder.header == (
        b"meter_id,window_start,window_end,status,withheld,unit,policy,readings,slots,"
        b"avg,avg_unbiased,avg_epsilon,reading,reading_unbiased,reading_epsilon\n"
    )
    name = rules.id.encode()
    assert encoder.encode(made) == [
        b'"m,1",0,40000,released,,W,' + name + b",half,4,10.0,-3.25,0.004,"
        b'"[1.0,null,2.0,3.5]","[0.5,null,2.0,3.0]",0.005'
    ]
    assert encoder.encode(suppressed) == [
        b'"m,1",0,40000,suppressed,budget,W,' + name + b",,,,,,,,"
    ]


def test_every_output_can_be_asked_for_and_has_its_encoder() -> None:
    config = from_document({"policy": [{"name": "p", "preset": "tv-content"}]}, Path(), {})
    asked = (parser().parse_args(["sanitize", "in", "--format", name]) for name in OUTPUTS)
    kinds = {given.format: type(encoder_of(given.format, config.policies)) for given in asked}
    assert kinds == {"json": Encoder, "csv": CsvEncoder, "parquet": Encoder}
