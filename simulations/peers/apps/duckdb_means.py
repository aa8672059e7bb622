"""DuckDB: the mean of every meter's quarter hours, from a file to a file, on one thread.

duckdb_means.py SOURCE TARGET: prints seconds of the processor, of the clock, and how many readings.
"""

import json
import sys
import time

import duckdb

COLUMNS = "columns={'meter_id': 'VARCHAR', 'ts': 'BIGINT', 'value': 'DOUBLE'}"


def main(source: str, target: str) -> None:
    """Read, group, write."""
    reader = (
        f"read_csv('{source}', header=true, auto_detect=false, delim=',', {COLUMNS})"
        if source.endswith(".csv")
        else f"read_json('{source}', format='newline_delimited', {COLUMNS})"
    )
    processor, clock = time.process_time(), time.perf_counter()
    connection = duckdb.connect()
    connection.execute("set threads = 1; set preserve_insertion_order = false")
    connection.execute(
        "create table means as select meter_id, ts // 900000 * 900000 as begin, "  # noqa: S608
        f"avg(value) as mean, count(*) as readings from {reader} group by all"
    )
    connection.execute(f"copy means to '{target}' (format json)")
    took = time.process_time() - processor, time.perf_counter() - clock
    found = connection.execute("select sum(readings)::bigint from means").fetchone()
    print(json.dumps([*took, found[0] if found else 0]))


if __name__ == "__main__":
    main(*sys.argv[1:])
