"""Bytes to columns and back. Pure.

forms       what a format has to do
json_one    what one record means
json_many   many records parsed together, wherever nothing is unusual
decoder     a batch of messages -> columns, by these two
merging     columns that were read apart, put together again
json_body   JSON as documents, which a mapping reads
times       times as exports write them
framing     what stands before a message whose schema is in a registry
quantity    units of power and energy -> watts, exactly
mapping     where other documents and tables say what, and what they mean
mapped_one, mapped_many, mapped    documents of any shape -> columns, as a mapping says
registered  messages behind the id of a schema, each read by its own
avro_schema, avro    Avro -> documents
avro_columns, avro_readings, avro_mapped    Avro -> columns, field by field
proto_source, protobuf    Protobuf -> documents, by a descriptor or its source
json_schema    JSON that is held against its schema
messages    which of all these reads messages
topics      topics of MQTT: which are read, which meter one names, where releases go
csv_header, csv_beside, csv_rows    lines of CSV -> columns
asked       what the wheel is told of a mapping or a table
fast        all of this, most of it by a wheel in Rust that is used where it is installed
lines       blocks of lines -> columns, whatever the lines are
member_records    records of who is in which group -> memberships
encoder     releases -> JSON
csv_encoder    releases -> CSV
release_columns    which columns a table of releases has
avro_encoder    releases -> Avro, by the schema of their JSON
feeder_table    releases of groups -> the open data on low-voltage feeders, as CSV
schema      what is written and read, as JSON Schema
"""
