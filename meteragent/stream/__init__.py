"""Readings to decisions, and the life of a partition. Pure: no clock, no I/O.

readings    what comes in
releases    what goes out
meters      which meter an id names, and which policy is that meter's
records     readings placed in slots
open_slots  the slots of open windows
strips      slots laid out straight, out of which windows are cut
window      when windows close: the theory, and all the rules
cohort      the meters of one policy: who pays, what is released
pipeline    one partition's readings in, releases and ledger records out
partition   what happens to a partition, and what is then to be done, as a table
"""
