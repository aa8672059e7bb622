"""The shell around the pipeline: carries out what `partition.py` says, on Kafka.

clients     how to connect, and how to let go: handed in, as is the clock
topics, fitness, rights    what must exist in Kafka, how, and be allowed: made, and checked
assignor    who gets which partition
memberships    who is in which group, read from its topic
work, preparing    what differs from one kind of work to another, and has to be known before
handover    what workers share, and what each of them builds up
receive    answers of brokers, received where they stay
fetch, walk, unpack    the input as batches of bytes, the way through them, and what they hold
decode_once    what several kinds of work read, decoded by whoever comes first
asked, registry, apicurio    a schema registry, by either of two interfaces
schemas, subjects    what it tells is waited for, and it is told what releases are
portions    how much goes into one transaction
intake      the pipeline of a partition, and what it has made
ahead       what was polled is decoded by a thread, while what came before is worked on
outbox      records of a transaction, in batches
owner       what a ledger says of who writes it, and a position of its ledger
ownership   whether a ledger is ours to go on with: the rules
restore     the ledger and the position, read back
takeover    a partition, restored and judged
clock       the brokers' time, by which windows close, beside this machine's
worker      one partition: commands in, events out
liveness    whether the brokers answer, and how much is left to read
group       the consumer: membership, polling, back-pressure
agent, agents    start when Kafka is there, run, drain on a signal, end in time
ledger_topic, peek    accounts, and first readings, for somebody who only looks
alone, settle, migrate    at work while no agent is: accounts move to other partitions
migrate_groups    so do homes and groups, whose sums go on
adopt, loss    a key that was replaced, a ledger that was lost: going on after it
"""
