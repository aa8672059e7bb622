"""Releases as Parquet: what lines of JSON, or rows of feeders, hold, once all of them are there.

The lines are what a run adds to and goes on from; the table is a function of them alone, and takes
the place of an older one at once. So a run that is killed leaves the old table or the new one.
"""

import csv
import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from meteragent.formats.feeder_table import COLUMNS, cells
from meteragent.formats.release_columns import CellKind, columns_of, row_of
from meteragent.privacy.policy import Policy

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError:  # pragma: no cover - seen where it is not installed
    raise ImportError(
        "Parquet needs pyarrow, which is not installed: pip install 'meteragent[parquet]'"
    ) from None

AT_ONCE = 2**16
"""Releases of a group of rows."""
_TYPES: dict[CellKind, Any] = {
    "text": pa.string(),
    "time": pa.timestamp("ms", tz="UTC"),
    "whole": pa.int64(),
    "number": pa.float64(),
    "numbers": pa.list_(pa.float64()),
}


_FEEDERS = pa.schema(
    [
        *((name, pa.string()) for name in COLUMNS[:-3]),
        *zip(COLUMNS[-3:], (pa.int64(), pa.float64(), _TYPES["time"]), strict=True),
    ]
)


def lines_beside(path: Path, kind: str = "jsonl") -> Path:
    """Where the lines of a table are."""
    return path.with_name(f"{path.name}.{kind}")


def write(path: Path, policies: Iterable[Policy]) -> None:
    """Make the table of all lines that are beside it."""
    kinds = columns_of(policies)
    schema = pa.schema([(name, _TYPES[kind]) for name, kind in kinds.items()])
    with lines_beside(path).open("rb") as lines:
        _write(path, schema, (row_of(kinds, json.loads(line)) for line in lines))


def write_feeders(path: Path) -> None:
    """Make the table of feeders of the CSV beside it."""
    with lines_beside(path, "csv").open(newline="", encoding="utf-8") as lines:
        _write(path, _FEEDERS, map(cells, csv.DictReader(lines)))


def _write(path: Path, schema: pa.Schema, rows: Iterator[dict[str, Any]]) -> None:
    part = path.with_name(f"{path.name}.part")
    with pq.ParquetWriter(part, schema) as writer:
        for some in _groups(rows):
            writer.write_table(pa.Table.from_pylist(some, schema))
    part.replace(path)


def _groups(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    while group := [*islice(rows, AT_ONCE)]:
        yield group
