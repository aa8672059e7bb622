"""Readings to decisions, and the life of a partition. Pure: no clock, no I/O.

readings    what comes in
releases    what goes out
records     readings placed in slots
ring        the slots of open windows
window, closing    when windows close, and what they hold then
cohort      the meters of one policy: who pays, what is released
pipeline    one partition's readings in, releases and ledger records out
partition   what happens to a partition, and what is then to be done, as a table
"""
