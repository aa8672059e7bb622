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
shown       what meters show: power, or something that becomes it
counters    registers, which become the power between them
panes       when panes close: the theory, and all the rules
fast_panes  the same by the wheel, one reading after the other
averaged    panes of which averages alone are asked, by the wheel: sums, and no slots
grain       what is folded: readings, or averages of parts
pieces      which panes are pieces of which windows, and numbers as bytes
last_readings    what fills the slots behind a pane
kept, kept_hours    what is kept of windows that are not over; of some hours of them
fold        panes into the windows that they are parts of
part_fold   averages of parts into windows
folds       all that is kept of open windows, and which of them are over
completed   all that is asked about windows that are over
fold_record    windows that are not over as bytes, and back
lodging     which rows of stores a cohort's are
written     what is written down of a policy's meters, and taken over
losses      windows of which a part was lost
branch      one policy: who pays, what is released
cohort      the meters that have the same policies, and their accounts
housing     what a pipeline asks of those who keep panes
houses      stores that cohorts share, and what is whose in them
residents   which meters are here, and which have no business here
position    how far a partition has come
trail       which records were written long ago
pipeline    one partition's readings in, releases and ledger records out
rolls       who is in which group, window by window
home_panes  the panes of homes, and their sums
groups      groups as meters: their accounts, windows, releases
group_homes    the homes of groups, and which sums are which groups'
group_pipeline    readings of homes in, releases of their groups out
roster      in which partitions members are
partial     what a partition tells of one pane, as bytes
partial_homes    the homes of one partition, and what they add to sums
home_pipeline    readings of homes of one partition in, what they add to groups out
totals      what partitions tell of panes, added up
total_pipeline    what partitions tell in, releases of groups out
relocated   homes and groups that are in other partitions from now on
partition   what happens to a partition, and what is then to be done, as a table
"""
