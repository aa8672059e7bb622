"""The shell around the pipeline: carries out what `partition.py` says, on Kafka.

clients     how to connect, and how to let go: handed in, as is the clock
topics, rights    what must exist in Kafka and be allowed: made, and checked
assignor    who gets which partition
handover    what workers share, and what each of them builds up
intake      the pipeline of a partition, and what it has made
outbox      records of a transaction, in batches
restore     the ledger and the position, read back
worker      one partition: commands in, events out
liveness    whether the brokers answer, and how much is left to read
group       the consumer: membership, polling, back-pressure
loop, agent    start when Kafka is there, run, drain on a signal, end in time
ledger_topic, migrate    the accounts, for somebody who looks or moves them
"""
