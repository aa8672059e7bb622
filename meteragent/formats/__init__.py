"""Bytes to columns and back. Pure.

decoder     a batch of messages -> columns: `json_many` at once, `json_one` by itself
lines       blocks of lines -> columns: `csv_header`, `csv_rows` and `times` for CSV
encoder     releases -> JSON, `csv_encoder` -> CSV
forms       what each of these has to do, and which is chosen
schema      what is written and read, as JSON Schema
"""
