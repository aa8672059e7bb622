"""Fleets of meters: how much one process holds, how fast it is built anew, how smooth it runs."""
