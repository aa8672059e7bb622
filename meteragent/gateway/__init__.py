"""MQTT in and out, with a journal: what was acknowledged is neither lost nor released twice.

disk        what is asked of a file system: handed in, so that tests can let the power fail
errors      what can go wrong with the journal
frames      batches of records <-> bytes, with a checksum
journal     readings on the disk, for as long as open windows need them
outbox      releases in the ledger that the broker does not have yet
decode      records of the journal -> columns, and whose they are
discovery   what Home Assistant is told of a meter
works       journal, pipeline, ledger and outbox together: no network, no clock of its own
connection  one connection to the broker
trial       whether broker and disk let it work, asked before it matters
traffic     what comes and goes over one connection
agent       the life of a gateway: start, connect again and again, end

    broker -> journal (on the disk) -> acknowledged -> pipeline -> ledger and outbox -> broker

A reading is acknowledged when it is in the journal, and on the disk. What it leads to, releases,
accounts and the position, becomes true in one transaction of SQLite; only then releases are sent,
and only what the broker has acknowledged is forgotten. So power may fail at any moment: readings
that were not acknowledged are sent again by the broker, those that were are read again from the
journal, from the position on, and releases that may or may not have arrived are sent again, with
the very same bytes. That time passed is in the journal too, where it closed windows: what is read
again makes the same of it.
"""
