"""The embedded way: CSV or JSON lines in, releases out, accounts in SQLite, no broker.

source      a file, gzip or pipe -> blocks of whole lines, which `formats.lines` makes columns of
ledger_tables, ledger    accounts, how far each input and output has come: one SQLite transaction
sink        releases and rejects -> files or standard output
outputs     where releases go: those of policies, and of each of their tiers
parquet     releases as a table, once all of them are there
documents, telegrams    what cannot be read line by line -> lines
fields, guess    what an input probably says
steps       how far apart readings are
totals, progress    what became of readings, and how far a job is
paths       where a job reads and writes
job         the loop: what was written and what was paid become true together
members, group_accounts    who is in which group, and what a ledger knows of groups
group_job    the same loop for groups of homes

A record's offset is its line number, from 0; its timestamp says nothing, so no reading is too
far in the future: old exports have no clock to compare with.
"""
