"""A frame, protected.

What leaves is what `meteragent sanitize` writes of the same readings, with the same key: the same
values to the last bit, in the same order.
"""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from meteragent.formats.mapping import Stamp
from meteragent.formats.quantity import Kind
from meteragent.library.frames import Where, frame_of, opened
from meteragent.library.group_session import begun
from meteragent.library.outcome import Column
from meteragent.library.plan import KeyLike, PolicyPlan

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

    from meteragent.library.listed import GroupsLike

Frame = TypeVar("Frame", bound="IntoDataFrame")


class ReadingsLost(UserWarning):
    """Some of what was given is in no window: which, and why."""


def protect(
    frame: Frame,
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
    groups: "GroupsLike | None" = None,
) -> Frame:
    """Protect the readings of a frame; the answer is a frame of the same kind, a row per window.

    `plan` is what `policy` made. `key` is a noise key or its file. `ledger` is the file of the
    accounts: what is spent stays spent, and a window that was decided is not decided again, so
    that a second call with the same rows gives no rows. None forgets it all at the end; that is
    right for trials, and for doing it only once.

    `kind`, `unit` and `stamp` are those of `[input]`: energy of intervals and registers, which
    count up, become power, and times may be of the end of an interval. By default values are power,
    in the unit that the policies count in. What a register showed last is kept in the ledger.

    `meter`, `time` and `value` name columns; `meter_id` is the meter of all rows where none does.
    Rows are read by their times, in whatever order they stand. Text or numbers need a
    `time_format`, as `sanitize` has it; `timezone` is that of times which do not say theirs. Pass
    whole windows: one that is over is closed at the end, and what comes later is late.

    `groups` says which homes are in which groups: a frame with the columns `meter_id` and
    `group_id`, and `from` and `until` where homes come and go; or the CSV that `sanitize --groups`
    reads. Then the sums of groups are released, under a plan of `group_policy`, and no meters.

    ReadingsLost is warned of where rows are in no window: rejected, late, or in one slot with
    others; and where memberships do not take effect as they are listed.

    >>> import meteragent as ma, polars as pl
    >>> from datetime import datetime, timedelta
    >>> moments = [datetime(2025, 11, 18) + timedelta(minutes=n) for n in range(1440)]
    >>> frame = pl.DataFrame({"home": "a", "at": moments, "watts": 250.0})
    >>> plan = ma.policy("tv-content", interval="1m")
    >>> key = ma.NoiseKey(bytes(range(32)))
    >>> out = ma.protect(
    ...     frame, plan, key=key, ledger=None, meter="home", time="at", value="watts"
    ... )
    >>> out.select("meter_id", "window_start", "status").rows()[0][::2]
    ('a', 'released')
    """
    meaning = plan.meaning(kind, unit, stamp)
    where = Where(meter, time, value, meter_id, meaning, time_format, timezone)
    given = opened(frame)
    counts = kind == "register"
    with begun(plan, key, ledger, groups, timezone=timezone, counts=counts) as session:
        parts = [session.feed(where.cells(given), by_time=True), session.end()]
        released = frame_of(_joined(parts), session.kinds, given.implementation).to_native()
        session.commit()
    if words := session.tallied.lost:
        warnings.warn("; ".join(words), ReadingsLost, stacklevel=2)
    return released  # type: ignore[no-any-return]


def _joined(parts: list[dict[str, Column]]) -> dict[str, Column]:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
