"""Counts that outlive their process: who is started anew goes on where the one before was killed.

They lie in memory that somebody else holds open, as `prometheus_client` lays them out for several
processes. What is only true of a living process, its gauges, is not kept.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from prometheus_client import mmap_dict, values


class KeptCounts:
    """Counts in a file that is open, under the number of its descriptor."""

    def __init__(self, descriptor: int) -> None:
        memory: Any = mmap_dict.MmapedDict  # which has no types
        self._kept = memory(f"/proc/self/fd/{descriptor}")

    def close(self) -> None:
        """Count no more."""
        self._kept.close()

    @contextmanager
    def of(self, work: str) -> Iterator[None]:
        """Series that are made meanwhile are kept, apart from those of other works."""

        def made(kind: str, *names: Any, **options: object) -> object:  # noqa: ANN401 - as asked
            if kind == "gauge":
                return before(kind, *names, **options)
            return _KeptCount(self._kept, work + mmap_dict.mmap_key(*names))

        before, values.ValueClass = values.ValueClass, made
        try:
            yield
        finally:
            values.ValueClass = before


class _KeptCount:
    """One number, as `prometheus_client.values` asks for it."""

    def __init__(self, kept: Any, key: str) -> None:  # noqa: ANN401 - as above
        self._kept, self._key = kept, key
        self._value = float(kept.read_value(key)[0])

    def inc(self, amount: float) -> None:
        """So much more."""
        self.set(self._value + amount)

    def set(self, value: float, timestamp: float | None = None) -> None:
        """This, at once also for whoever comes after."""
        self._value = value
        self._kept.write_value(self._key, value, timestamp or 0.0)

    def get(self) -> float:
        """What it is."""
        return self._value

    def get_exemplar(self) -> None:
        """There are none."""
