"""Runs real Apache Kafka brokers (KRaft) on loopback, with nothing but Python's standard library.

`cli` reads the command line, `cluster` keeps brokers and their directory, `properties` writes
what a broker reads at its start, `security` makes certificates and passwords, `runtime` is how a
JVM is had (this machine's Java, or Docker), and `probe` asks a broker whether it is ready.
"""
