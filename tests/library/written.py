"""What tests of the library start from: drawn readings, as frames and as lines of JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import strategies as st

from meteragent.privacy.policy import RELEASE_SCHEMA, Policy
from meteragent.privacy.terms import JOINT
from tests.files.given import BEGIN, MINUTE

if TYPE_CHECKING:
    from collections.abc import Iterable

KINDS = ("polars", "pandas", "pyarrow")


class Row(NamedTuple):
    """One reading as a table has it."""

    meter: str | None
    time: int | None
    watts: float | None


ROWS = st.lists(
    st.builds(
        Row,
        st.sampled_from(["home-a", "home-b", "home-ü", "barn-1", "", None]),
        st.none() | st.integers(0, 240).map(lambda half: BEGIN + half * MINUTE // 2),
        st.none() | st.floats(-1e3, 3e4) | st.sampled_from([0.0, 250.0, 5e9]),
    ),
    max_size=150,
)


def frame(rows: Iterable[Row], kind: str = "polars") -> Any:
    """The rows as a frame of this kind."""
    rows = list(rows)
    columns = {
        "home": pa.array([row.meter for row in rows], pa.string()),
        "at": pa.array([row.time for row in rows], pa.timestamp("ms", "UTC")),
        "watts": pa.array([row.watts for row in rows], pa.float64()),
    }
    return of_kind(pl.from_arrow(pa.table(columns)), kind)


def of_kind(frame: Any, kind: str) -> Any:
    """A polars frame as one of this kind."""
    if kind == "polars":
        return frame
    return frame.to_arrow() if kind == "pyarrow" else frame.to_pandas()


def lines(rows: Iterable[Row]) -> bytes:
    """The good ones by time, as `sanitize` reads them."""
    good = [row for row in rows if row.meter and row.time is not None]
    return b"".join(
        json.dumps(_record(row)).encode() + b"\n" for row in sorted(good, key=lambda r: r.time or 0)
    )


def _record(row: Row) -> dict[str, Any]:
    if row.watts is not None:
        return {"meter_id": row.meter, "ts": row.time, "value": row.watts}
    return {"meter_id": row.meter, "start": row.time, "interval_ms": 1, "values": [None]}


def records(released: Any) -> list[dict[str, Any]]:
    """The rows of a frame of any kind; None where there is nothing."""
    if isinstance(released, pd.DataFrame):
        found = released.astype(object).to_dict("records")
        return [{name: _plain(value) for name, value in row.items()} for row in found]
    rows: list[dict[str, Any]] = (
        released.to_pylist() if isinstance(released, pa.Table) else released.to_dicts()
    )
    return rows


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return value
    return None if pd.isna(value) else value


def document(row: dict[str, Any], policies: Iterable[Policy]) -> bytes:
    """What `sanitize` writes of a window, from what its row says."""
    [policy] = [policy for policy in policies if policy.id == row["policy"]]
    names = [asked.query.name for asked in policy.questions]
    granted = [name for name in names if row[name] is not None]
    paid = [JOINT] if policy.noise == JOINT else names
    told: dict[str, Any] = {
        "schema": RELEASE_SCHEMA,
        **{whose: row[whose] for whose in ("meter_id", "group_id") if whose in row},
        "window_start": _milliseconds(row["window_start"]),
        "window_end": _milliseconds(row["window_end"]),
        "status": row["status"],
        "values": {name: row[name] for name in granted},
        "unbiased": {name: row[f"{name}_unbiased"] for name in granted},
        "unit": row["unit"],
        "policy": row["policy"],
        "epsilon": {n: row[f"{n}_epsilon"] for n in paid if row[f"{n}_epsilon"] is not None},
    }
    if row["withheld"] is not None:
        told["withheld"] = row["withheld"]
    if "homes" in row:
        told["homes"] = row["homes"]
    elif row["readings"] is not None:
        exact = isinstance(row["readings"], float)
        told["readings"] = int(row["readings"]) if exact else row["readings"]
        told["slots"] = row["slots"]
    return json.dumps(told, separators=(",", ":")).encode()


def _milliseconds(moment: Any) -> int:
    return int(np.datetime64(pd.Timestamp(moment).tz_localize(None), "ms").astype(np.int64))
