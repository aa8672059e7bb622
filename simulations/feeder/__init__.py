"""Sums over many homes: one draw for a feeder, beside the sum of what single homes release."""
