"""Releases as Parquet: what lines of JSON hold, put into a table when all of them are there.

The lines are what a run adds to and goes on from; the table is a function of them alone, and takes
the place of an older one at once. So a run that is killed leaves the old table or the new one.
"""

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

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


def lines_beside(path: Path) -> Path:
    """Where the lines of a table are."""
    return path.with_name(f"{path.name}.jsonl")


def write(path: Path, policies: Iterable[Policy]) -> None:
    """Make the table of all lines that are beside it."""
    kinds = columns_of(policies)
    schema = pa.schema([(name, _TYPES[kind]) for name, kind in kinds.items()])
    part = path.with_name(f"{path.name}.part")
    with lines_beside(path).open("rb") as lines, pq.ParquetWriter(part, schema) as writer:
        for rows in _groups(row_of(kinds, json.loads(line)) for line in lines):
            writer.write_table(pa.Table.from_pylist(rows, schema))
    part.replace(path)


def _groups(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    while group := [*islice(rows, AT_ONCE)]:
        yield group
