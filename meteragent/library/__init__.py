"""Python's own way in: frames in, the same kind of frame out, accounts in SQLite, no broker.

plan        what is released, chosen in Python: a preset, or settings one by one
rows        columns of readings, each row judged: good ones to `Readings`, others counted
outcome     decided windows as the columns of a table, in the order in which they are published
frames      pandas, polars and pyarrow <-> columns: the only one that knows what a frame is
parquet     Parquet, some rows at a time
session     one run over one ledger: readings in, windows out, what was spent written down
listed      which homes are in which groups: from a frame, or the CSV of `sanitize --groups`
group_session    the same run where groups are released: readings of their homes in
protect     a frame, or a Parquet file batch by batch, protected
answers     frames of releases taken apart by policy, and put together again
reader      what a reader makes of releases for free: bills, sums, ranges, best guesses
simulate    one's own traces released again and again: how far off, and what an attacker makes of it

It needs `meteragent[frames]`; Parquet needs `meteragent[parquet]`.
"""
