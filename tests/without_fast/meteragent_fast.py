"""Stands before the wheel on the way of `--without-fast`: it is as if there were none."""

raise ImportError("left out")
