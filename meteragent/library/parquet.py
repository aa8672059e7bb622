"""A Parquet file of any size, protected: read some rows at a time, and written likewise."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import narwhals as nw

from meteragent.errors import FileRefused
from meteragent.formats.mapping import Stamp
from meteragent.formats.quantity import Kind
from meteragent.formats.release_columns import CellKind
from meteragent.library.frames import Where, frame_of
from meteragent.library.group_session import begun
from meteragent.library.outcome import Column, table
from meteragent.library.plan import KeyLike, PolicyPlan
from meteragent.library.rows import AT_ONCE, Tallied

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError:  # pragma: no cover - seen where it is not installed
    raise ImportError(
        "Parquet needs pyarrow, which is not installed: pip install 'meteragent[parquet]'"
    ) from None

if TYPE_CHECKING:
    from types import TracebackType

    from meteragent.library.listed import GroupsLike


def protect_parquet(
    source: str | Path,
    target: str | Path,
    plan: PolicyPlan,
    *,
    key: KeyLike = None,
    ledger: str | Path | None,
    meter: str = "meter_id",
    time: str = "ts",
    value: str = "value",
    meter_id: str | None = None,
    kind: Kind = "power",
    unit: str | None = None,
    stamp: Stamp = "start",
    time_format: str | None = None,
    timezone: str = "UTC",
    by_meter: bool = False,
    groups: "GroupsLike | None" = None,
) -> Tallied:
    """Protect a Parquet file of any size; answer what became of its rows.

    Rows are read some at a time, as they stand: by time, or with `by_meter` one meter after the
    other. `target` is there when all of it is, and paid for; until then it is `target.part`. What
    else is said of arguments, `protect` says. It needs `meteragent[parquet]`.
    """
    meaning = plan.meaning(kind, unit, stamp)
    where = Where(meter, time, value, meter_id, meaning, time_format, timezone)
    target = Path(target)
    part = target.with_name(f"{target.name}.part")
    if target.exists():
        raise FileRefused(str(target), "already exists", "name a new file, or remove it")
    begin = partial(begun, plan, key, ledger, groups, timezone=timezone)
    with begin(by_meter=by_meter, counts=kind == "register") as session:
        if part.exists() and session.paid_for(target):
            problem = "holds what an earlier run released and paid for"
            raise FileRefused(str(part), problem, f"rename it to {target.name}")
        with unless_whole(part), Parquet(part, session.kinds) as sink:
            for frame in frames_in(source, where):
                sink.write(session.feed(where.cells(frame), by_time=False))
            sink.write(session.end())
        session.commit(target, sync(part))
        part.rename(target)
    return session.tallied


def frames_in(path: str | Path, where: Where) -> Iterator["nw.DataFrame[Any]"]:
    """The columns of a file that say what is asked. FileRefused: it cannot be read, or not on."""
    try:
        where.refuse_missing(pq.read_schema(path).names)
        names = where.names
        ids = [names["meter"]] if "meter" in names else []  # they come as numbers
        with pq.ParquetFile(path, read_dictionary=ids) as file:
            for batch in file.iter_batches(AT_ONCE, columns=[*names.values()]):
                yield nw.from_native(pa.Table.from_batches([batch]), eager_only=True)
    except (pa.ArrowException, OSError) as error:
        problem = f"cannot be read as Parquet ({type(error).__name__})"
        raise FileRefused(str(path), problem, "give a whole Parquet file") from None


class Parquet:
    """A file that grows by groups of rows; readable once it is closed."""

    def __init__(self, path: Path, kinds: dict[str, CellKind]) -> None:
        self._kinds = kinds
        schema = self._table(table(kinds, [])).schema
        self._writer = pq.ParquetWriter(path, schema)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: "TracebackType | None",
    ) -> None:
        self._writer.close()

    def write(self, columns: dict[str, Column]) -> None:
        """Add rows, if these are any."""
        rows = self._table(columns)
        if len(rows):
            self._writer.write_table(rows)

    def _table(self, columns: dict[str, Column]) -> "pa.Table":
        return frame_of(columns, self._kinds, nw.Implementation.PYARROW).to_native()


@contextmanager
def unless_whole(path: Path) -> Iterator[None]:
    """Remove a file that was not written to its end: nobody has paid for what is in it."""
    try:
        yield
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def sync(path: Path) -> int:
    """Put a file on the disk; answer how long it is."""
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
        return os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)
