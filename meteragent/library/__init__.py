"""Python's own way in: frames in, the same kind of frame out, accounts in SQLite, no broker.

plan        what is released, chosen in Python: a preset, or settings one by one
rows        columns of readings, each row judged: good ones to `Readings`, others counted
outcome     decided windows as the columns of a table, in the order in which they are published
frames      pandas, polars and pyarrow <-> columns: the only one that knows what a frame is
parquet     Parquet, some rows at a time
session     one run over one ledger: readings in, windows out, what was spent written down
protect     a frame, or a Parquet file batch by batch, protected
reader      what a reader makes of releases for free: bills, sums, ranges, best guesses
simulate    one's own traces released again and again: how far off, and what an attacker makes of it

It needs `meteragent[frames]`; Parquet needs `meteragent[parquet]`.
"""
