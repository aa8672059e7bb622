"""Columns -> the table of low-voltage feeders that network operators publish, as CSV, and back.

Its columns are theirs, and a row's time is when its window ended. Consumption is what `unbiased`
says of the average, as energy in Wh: right on average, so now and then below nothing. The number of
devices is that of a public membership, and never of who was heard: so no difference of two numbers
tells of a home. A window that was withheld has a row without consumption.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

import numpy as np

from meteragent.errors import InvalidSetting
from meteragent.formats.csv_encoder import rows_of
from meteragent.formats.encoder import homes_of
from meteragent.privacy.arrays import Integers
from meteragent.privacy.policy import Policy
from meteragent.privacy.query import NAMED
from meteragent.privacy.units import WATT
from meteragent.stream.releases import Releases

HOUR = 3_600_000
Cell = str | int | float | datetime | None


class Feeder(NamedTuple):
    """Who a group is, as the table says it; what is not known is empty."""

    dataset_id: str = ""
    dno_alias: str = ""
    secondary_substation_id: str = ""
    lv_feeder_id: str = ""


COLUMNS = (
    *Feeder._fields,
    "aggregated_device_count_active",
    "total_consumption_active_import",
    "data_collection_log_timestamp",
)


def cells(row: Mapping[str, str]) -> dict[str, Cell]:
    """A row that was written here, as what its columns hold."""
    count, energy, time = (row[name] for name in COLUMNS[-3:])
    ids: dict[str, Cell] = {name: row[name] for name in Feeder._fields}
    told = float(energy) if energy else None
    return ids | dict(
        zip(COLUMNS[-3:], (int(count), told, datetime.fromisoformat(time)), strict=True)
    )


class FeederEncoder:
    """Encodes releases of groups as rows of that table."""

    header = ",".join(COLUMNS).encode() + b"\n"

    def __init__(self, policies: Iterable[Policy], feeders: Mapping[str, Feeder]) -> None:
        """InvalidSetting: a policy is about no power, or does not ask for the average of it."""
        self._places = {policy.id: _place(policy) for policy in policies}
        self._feeders = feeders

    def encode(self, releases: Releases) -> list[bytes]:
        """One row per window, in their order."""
        question, column = self._places[releases.policy.id]
        lengths = (releases.ends - releases.starts) / HOUR
        energy = (releases.unbiased[:, column] * lengths).tolist()
        told = releases.released[:, question].tolist()
        ids = (self._feeders[group] for group in releases.meters)
        [homes] = homes_of(releases)
        rows = zip(ids, homes, energy, told, _times(releases.ends), strict=True)
        return rows_of(
            (*feeder, count, f"{wh:.1f}" if there else "", time)
            for feeder, count, wh, there, time in rows
        )


def _place(policy: Policy) -> tuple[int, int]:
    """Which question asks for the average, and in which column its answer stands."""
    if policy.domain.unit != WATT:
        problem = f"is in {policy.domain.unit}, and lv-feeder says consumption in Wh"
        raise InvalidSetting("quantity", problem, "write --format csv")
    queries = [asked.query for asked in policy.questions]
    if NAMED["avg"] not in queries:
        problem = "is without avg, from which lv-feeder makes consumption"
        raise InvalidSetting("queries", problem, "ask it too, or write --format csv")
    nth = queries.index(NAMED["avg"])
    return nth, sum(query.outputs(policy.slots) for query in queries[:nth])


def _times(moments: Integers) -> list[str]:
    written = np.datetime_as_string(moments.astype("datetime64[ms]"), timezone="UTC")
    return [*map(str, written.tolist())]
