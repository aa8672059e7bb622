"""Readings to decisions, and the life of a partition. Pure: no clock, no I/O.

readings    what comes in
releases    what goes out
meters      which meter an id names, and which policies are that meter's
homes       in which partition a meter's readings come
records     readings placed in slots
open_slots  the slots of open panes
strips      slots laid out straight, out of which panes are cut
order       in which order closed windows leave, whatever batches they came in
closed      what becomes of readings, and which panes have closed
panes       when panes close: the theory, and all the rules
kept        what is kept of windows that are not over
folds       panes into windows, and which of these are over
fold_record    windows that are not over as bytes, and back
branch      one policy: who pays, what is released
cohort      the meters that have the same policies, and their accounts
position    how far a partition has come
pipeline    one partition's readings in, releases and ledger records out
partition   what happens to a partition, and what is then to be done, as a table
"""
