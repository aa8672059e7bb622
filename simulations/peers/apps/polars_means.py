"""Polars: the mean of every meter's quarter hours, from a file to a file, on one thread.

polars_means.py SOURCE TARGET: prints seconds of the processor, of the clock, and how many readings.
"""

import json
import os
import sys
import time

os.environ["POLARS_MAX_THREADS"] = "1"

import polars as pl

SCHEMA = {"meter_id": pl.String, "ts": pl.Int64, "value": pl.Float64}


def main(source: str, target: str) -> None:
    """Read, group, write."""
    processor, clock = time.process_time(), time.perf_counter()
    scan = pl.scan_csv if source.endswith(".csv") else pl.scan_ndjson
    means = (
        scan(source, schema=SCHEMA)
        .group_by("meter_id", begin=pl.col("ts") // 900_000 * 900_000)
        .agg(mean=pl.col("value").mean(), readings=pl.len())
        .collect(engine="streaming")
    )
    means.write_ndjson(target)
    took = time.process_time() - processor, time.perf_counter() - clock
    print(json.dumps([*took, int(means["readings"].sum())]))


if __name__ == "__main__":
    main(*sys.argv[1:])
