"""Frames and Parquet are no slower than `sanitize`, by seconds of the processor."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import meteragent as ma

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

METERS, SLOTS = 60, 8640
LEAST = 0.8
"""Of the speed of `sanitize` on JSON lines, its start not counted; measured: 1.5 and more."""


def own_seconds(does: Callable[[], object]) -> float:
    before = time.process_time()
    does()
    return time.process_time() - before


def childs_seconds(*arguments: str) -> float:
    before = os.times()
    subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "meteragent", "sanitize", *arguments],
        check=False,
        capture_output=True,
    )
    after = os.times()
    user, system = after.children_user, after.children_system
    return user + system - before.children_user - before.children_system


def test_a_frame_and_a_file_of_parquet_keep_up_with_lines(tmp_path: Path) -> None:
    moments = np.repeat(1_763_424_000 + 10 * np.arange(SLOTS), METERS)
    names = np.tile(np.array([f"m-{n}" for n in range(METERS)], dtype=object), SLOTS)
    watts = np.random.default_rng(4).integers(50, 3000, len(moments)).astype(np.float64)
    frame = pd.DataFrame({"meter_id": names, "ts": moments, "value": watts})
    rows = zip(names.tolist(), moments.tolist(), watts.tolist(), strict=True)
    lines = (f'{{"meter_id":"{n}","ts":{at}000,"value":{value:g}}}\n' for n, at, value in rows)
    (tmp_path / "in.jsonl").write_text("".join(lines))
    (tmp_path / "empty.jsonl").write_text("")
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "in.parquet")
    key, plan = tmp_path / "noise.key", ma.policy("tv-content")
    ma.create_key(key)
    with_key = ("--preset", "tv-content", "--key-file", str(key), "-o")
    start = childs_seconds(str(tmp_path / "empty.jsonl"), *with_key, str(tmp_path / "nothing"))
    theirs = childs_seconds(str(tmp_path / "in.jsonl"), *with_key, str(tmp_path / "out")) - start
    assert (tmp_path / "out").read_text().count("released") == METERS
    for _ in range(2):  # the first time something is loaded
        of_frame = own_seconds(
            lambda: ma.protect(frame, plan, key=key, ledger=None, time_format="unix")
        )
        (tmp_path / "out.parquet").unlink(missing_ok=True)
        of_file = own_seconds(
            lambda: ma.protect_parquet(
                tmp_path / "in.parquet",
                tmp_path / "out.parquet",
                plan,
                key=key,
                ledger=None,
                time_format="unix",
            )
        )
    assert max(of_frame, of_file) * LEAST < theirs, (of_frame, of_file, theirs)
