"""Bytes to columns and back. Pure.

codec       a batch of messages -> columns: `chunk` many at once, `record` one by one
decode      blocks of lines -> columns: `table`, `header` and `moments` for CSV
encode      releases -> JSON
schema      what is written and read, as JSON Schema
"""
