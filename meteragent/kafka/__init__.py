"""The shell around the pipeline: carries out what `partition.py` says, on Kafka.

clients    how to connect, and how to let go: handed in, as is the clock
assignor   who gets which partition
handover   what workers share, and what each of them builds up
intake     the pipeline of a partition, and what it has made
outbox     records of a transaction, in batches
restore    the ledger and the position, read back
liveness   whether the brokers answer, and how much is left to read
worker     one partition: commands in, events out
group      the consumer: membership, polling, back-pressure
topics     what must exist in Kafka: made, and checked
"""
