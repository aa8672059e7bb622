"""pandas, polars and pyarrow <-> columns: the only one that knows what a frame is.

It leans on narwhals, which speaks to each of them in its own words and imports none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from meteragent.config.zones import zone
from meteragent.errors import InvalidSetting
from meteragent.formats.mapping import Meaning
from meteragent.formats.release_columns import CellKind
from meteragent.formats.times import TimeFormat, zone_of
from meteragent.library.outcome import Column
from meteragent.library.rows import NO_TIME, Cells
from meteragent.privacy.arrays import Integers
from meteragent.privacy.domain import Watts

try:
    import narwhals as nw
except ImportError:  # pragma: no cover - seen where it is not installed
    raise ImportError(
        "frames need narwhals, which is not installed: pip install 'meteragent[frames]'"
    ) from None

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

DATES = (nw.Datetime, nw.Date)
_SECONDS = {"unix": 1000, "unix_ms": 1}


@dataclass(frozen=True, slots=True)
class Where:
    """Which columns of a frame say what, and how."""

    meter: str = "meter_id"
    time: str = "ts"
    value: str = "value"
    meter_id: str | None = None
    """The meter of all rows, if no column names it."""
    meaning: Meaning = field(default_factory=Meaning)
    """What the values are, and whether times are of the end of their intervals."""
    time_format: str | None = None
    """Of times that are text or numbers."""
    timezone: str = "UTC"
    """Of times that do not say theirs."""

    def __post_init__(self) -> None:
        if self.time_format not in {None, "iso", *_SECONDS} and "%" not in str(self.time_format):
            problem, instead = "is not a time format", 'write iso, unix, unix_ms or "%d/%m/%Y …"'
            raise InvalidSetting("time_format", problem, instead)
        if self.timezone != "UTC":  # whose clocks nobody needs to look up
            zone(self.timezone)

    @property
    def names(self) -> dict[str, str]:
        """Argument -> the column that it names."""
        named = {"meter": self.meter, "time": self.time, "value": self.value}
        return {name: its for name, its in named.items() if name != "meter" or not self.meter_id}

    def refuse_missing(self, there: Sequence[str]) -> None:
        """Refuse columns that are none."""
        for argument, name in self.names.items():
            if name not in there:
                known = ", ".join(map(repr, there))
                instead = f"name one of {known}; .reset_index() makes columns of an index"
                raise InvalidSetting(argument, f"there is no column {name!r}", instead)

    def cells(self, frame: "nw.DataFrame[Any]") -> Cells:
        """What the frame says, row by row."""
        self.refuse_missing(frame.columns)
        times, earlier = self._times(frame), self.meaning.earlier
        begun = times if not earlier else np.where(times == NO_TIME, NO_TIME, times - earlier)
        return Cells(*self._meters(frame), begun, self._watts(frame))

    def _meters(self, frame: "nw.DataFrame[Any]") -> tuple[list[str], Integers]:
        """The ids there are, and which of them each row's is."""
        if self.meter_id or not len(frame):
            return [self.meter_id or ""], np.zeros(len(frame), dtype=np.int64)
        column = frame[self.meter]
        if column.implementation.is_pyarrow() and column.dtype == nw.Categorical:
            its = column.to_native().combine_chunks()
            if str(its.type.value_type) in {"string", "large_string"}:
                return coded(its)
        return numbered(ids_of(column, "meter"))

    def _watts(self, frame: "nw.DataFrame[Any]") -> Watts:
        column = frame[self.value]
        if not (column.dtype.is_numeric() or column.dtype == nw.Unknown):
            raise InvalidSetting("value", "holds no numbers", "turn the column into floats")
        values = column.cast(nw.Float64()).to_numpy().astype(np.float64, copy=False)
        if self.meaning.quantity.is_watts:
            return values
        known = np.isfinite(values)
        watts = self.meaning.quantity.watts(np.where(known, values, np.nan))
        return np.where(known, watts, values)

    def _times(self, frame: "nw.DataFrame[Any]") -> Integers:
        column = frame[self.time]
        if isinstance(column.dtype, DATES):
            return moments_of(column, self.timezone)
        if column.dtype.is_numeric():
            return self._of_numbers(column)
        return self._of_texts(column.cast(nw.String()).to_list())

    def _of_numbers(self, column: "nw.Series[Any]") -> Integers:
        factor = _SECONDS.get(self.time_format or "")
        if factor is None:
            raise InvalidSetting(
                "time", "holds numbers", 'say what they count: time_format="unix", or "unix_ms"'
            )
        if column.dtype.is_integer():
            numbers = column.fill_null(NO_TIME).to_numpy().astype(np.int64)
            return np.where(numbers < 0, NO_TIME, numbers * factor)
        seconds = column.cast(nw.Float64()).to_numpy().astype(np.float64)
        known = np.isfinite(seconds) & (np.abs(seconds) < 2**53)
        micro = np.round(np.where(known, seconds, 0) * factor, 3)  # as decimals have it
        return np.where(known, np.floor(micro).astype(np.int64), NO_TIME)

    def _of_texts(self, texts: list[str | None]) -> Integers:
        read = TimeFormat(self.time_format or "iso", zone_of(self.timezone))
        written = [text.encode() for text in texts if isinstance(text, str)]
        whole = read.column(written) if written and len(written) == len(texts) else None
        return np.array([_one(read, text) for text in texts]) if whole is None else whole


def _one(read: TimeFormat, text: object) -> int:
    try:
        return read.one(text) if isinstance(text, str) else NO_TIME
    except (ValueError, OverflowError):
        return NO_TIME


def ids_of(column: "nw.Series[Any]", argument: str) -> "nw.Series[Any]":
    """Ids as text, empty where there is none."""
    if column.dtype.is_float():
        problem = "holds numbers that may have a fraction, and ids do not"
        raise InvalidSetting(argument, problem, "make them text, or whole numbers")
    return column.cast(nw.String()).fill_null("")


def coded(ids: Any) -> tuple[list[str], Integers]:  # noqa: ANN401 - an array of pyarrow, which need not be there
    """The same, of ids that have numbers already; empty where there is none."""
    names = [name if isinstance(name, str) else "" for name in ids.dictionary.to_pylist()]
    numbers = ids.indices.fill_null(len(names)).to_numpy().astype(np.int64)
    return [*names, ""], numbers


def numbered(ids: "nw.Series[Any]") -> tuple[list[str], Integers]:
    """The ids there are, and which of them each is; each library has a way of its own to hash."""
    its: Any
    if ids.implementation.is_pandas_like():
        numbers, its = ids.to_native().factorize()
        return its.tolist(), numbers
    if ids.implementation.is_pyarrow():
        return coded(ids.to_native().combine_chunks().dictionary_encode())
    categories = ids.cast(nw.Categorical())
    there = categories.unique()
    used = there.to_native().to_physical().to_numpy()  # of those that other frames have, too
    number = np.zeros(int(used.max()) + 1, dtype=np.int64)
    number[used] = np.arange(len(used))
    return there.cast(nw.String()).to_list(), number[
        categories.to_native().to_physical().to_numpy()
    ]


def moments_of(column: "nw.Series[Any]", timezone: str) -> Integers:
    """Dates as milliseconds, `NO_TIME` where there is none; `timezone`: if they name none."""
    missing = column.is_null().to_numpy().astype(np.bool_)
    zoned = isinstance(column.dtype, nw.Datetime) and column.dtype.time_zone is not None
    times: Integers = column.dt.timestamp("ms").fill_null(0).to_numpy().astype(np.int64)
    if not zoned and timezone != "UTC":
        times = zone(timezone).moments(times)
    return np.where(missing, NO_TIME, times)


def opened(frame: "IntoDataFrame", argument: str = "frame") -> "nw.DataFrame[Any]":
    """A frame of any kind. InvalidSetting: it is none, or one that is not there yet."""
    try:
        return nw.from_native(frame, eager_only=True)
    except TypeError:
        problem = "is not a pandas or polars data frame or a pyarrow table"
        instead = "pass one of these; .collect() turns a lazy frame into one"
        raise InvalidSetting(argument, problem, instead) from None


def frame_of(
    columns: Mapping[str, Column],
    kinds: Mapping[str, CellKind],
    backend: Any,  # noqa: ANN401 - narwhals' own type is wider than what it takes
) -> "nw.DataFrame[Any]":
    """A frame of this kind."""
    return nw.from_dict(
        {name: _series(name, column, kinds[name], backend) for name, column in columns.items()}
    )


def _series(
    name: str,
    column: Column,
    kind: CellKind,
    backend: Any,  # noqa: ANN401 - as above
) -> "nw.Series[Any]":
    if kind == "time":
        moments = column.astype("datetime64[ms]")
        naive = nw.new_series(name, moments, nw.Datetime("ms"), backend=backend)
        return naive.dt.replace_time_zone("UTC")
    if kind == "number":
        series = nw.new_series(name, column, nw.Float64(), backend=backend)
        return series.to_frame().with_columns(nw.col(name).fill_nan(None))[name]
    if kind == "whole":
        return nw.new_series(name, column, nw.Int64(), backend=backend)
    if kind == "text":
        return nw.new_series(name, column.tolist(), nw.String(), backend=backend)
    lists = None if backend.is_pandas_like() else nw.List(nw.Float64())
    return nw.new_series(name, column.tolist(), lists, backend=backend)
