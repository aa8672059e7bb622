"""What comes in, as columns: the records of a batch, good and bad.

A *record* is a Kafka message or a line of a file; a *run* is what one good record holds, a
single reading or an interval block of consecutive ones.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import compress
from typing import Any, NamedTuple

import numpy as np

from meteragent.privacy.arrays import Integers, Mask, counted
from meteragent.privacy.domain import Watts


class Reason(StrEnum):
    """Why a record was rejected whole. Never says what it held."""

    EMPTY = "empty"
    """No bytes: a tombstone, or nothing in it."""
    TOO_LARGE = "too_large"
    """More bytes than a record may have, digits not counted; it was not parsed."""
    NOT_UTF8 = "not_utf8"
    NOT_JSON = "not_json"
    """No JSON document; or nested beyond 200, or with an integer beyond 4300 digits."""
    WRONG_SHAPE = "wrong_shape"
    """No object, or a key is missing."""
    BAD_METER = "bad_meter"
    """`meter_id` or `account` is no string of 1 to 128 characters without control characters."""
    BAD_TIME = "bad_time"
    """Neither milliseconds nor RFC 3339 with a zone; or outside 1970 to 9999."""
    IN_SECONDS = "in_seconds"
    """Its time is a number of seconds, and read as milliseconds it would be in January 1970."""
    BAD_INTERVAL = "bad_interval"
    """`interval_ms` is no positive integer."""
    BAD_VALUE = "bad_value"
    """A value is no finite number, or a block holds no value, or more than 100,000."""
    BAD_UNIT = "bad_unit"
    """Neither W nor kW."""
    WRONG_UNIT = "wrong_unit"
    """It says another unit than the one that `[input]` says its values are in."""
    BAD_QUALITY = "bad_quality"
    """Its quality is one of those that `[input]` rejects."""
    BAD_FRAMING = "bad_framing"
    """It does not begin as messages do whose schema is in a registry."""
    UNKNOWN_SCHEMA = "unknown_schema"
    """The registry does not know its schema, or did not answer, and `unknown` is `reject`."""
    BAD_SCHEMA = "bad_schema"
    """Its schema is of another kind than `input.format`, or one that is not read."""
    NOT_AVRO = "not_avro"
    """Its bytes are not what its schema says."""
    NOT_PROTOBUF = "not_protobuf"
    """Its bytes are no message, or nested beyond 100, or hold more than a million values."""
    NOT_JSON_SCHEMA = "not_json_schema"
    """It is not what its JSON Schema asks for."""
    FUTURE = "future"
    """Further ahead of the record's own timestamp than `max_skew`."""
    NO_POLICY = "no_policy"
    """No policy is for this meter."""
    NO_GROUP = "no_group"
    """The meter is in no group of which anything is released."""
    OTHER_MEMBERS = "other_members"
    """A partial of sums in which other homes are members of groups than here."""
    LATE_PARTIAL = "late_partial"
    """A partial of sums that were decided before."""
    REPEATED_PARTIAL = "repeated_partial"
    """A partial of sums that was told before."""
    TOO_MANY_METERS = "too_many_meters"
    """A new meter, and the partition holds as many as it may."""
    WRONG_PARTITION = "wrong_partition"
    """The meter's home, as `kafka.partitioner` has it, is another partition."""


TODAY_IN_SECONDS = (10**9, 2 * 10**9)
"""From 2001 to 2033; so many milliseconds are in January 1970, when no meter was read."""


class Reject(NamedTuple):
    """One rejected record, by its coordinates only."""

    offset: int
    """Where it stands in its partition, or its line in a file, from 0 on."""
    reason: Reason


@dataclass(frozen=True, slots=True)
class Numbered:
    """Ids by their numbers in a list that only grows: so each is looked up once, not each time."""

    names: list[str]
    numbers: Integers

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[str]:
        return map(self.names.__getitem__, self.numbers.tolist())

    def chosen(self, these: Mask) -> "Numbered":
        """Some of them."""
        return Numbered(self.names, self.numbers[these])


@dataclass(frozen=True, slots=True)
class Readings:
    """The good records of a batch, in record order, and the bad ones.

    `watts` has an entry per reading, run after run; the others have one per run. A reading
    without a value is NaN watts: its slot stays absent.
    """

    meters: list[str] | Numbered
    offsets: Integers
    """Where each run's record stands in its partition."""
    timestamps: Integers
    """When each run's record was written, in milliseconds since the epoch."""
    counts: Integers
    """How many readings each run holds."""
    starts: Integers
    """The time of each run's first reading ..."""
    intervals: Integers
    """... and from each of its readings to the next, which is positive."""
    watts: Watts
    rejects: list[Reject]
    next_offset: int
    """One past the last record of the batch, good or bad."""

    @property
    def ends(self) -> Integers:
        """The time of each run's last reading."""
        ends: Integers = self.starts + self.intervals * (self.counts - 1)
        return ends

    @property
    def times(self) -> Integers:
        """The time of each reading, run after run."""
        times: Integers = np.repeat(self.starts, self.counts)
        times += np.repeat(self.intervals, self.counts) * counted(self.counts)
        return times

    def chosen(self, runs: Mask, rejects: list[Reject], next_offset: int) -> "Readings":
        """Some of the runs, with these rejects."""
        meters = self.meters
        return Readings(
            meters.chosen(runs)
            if isinstance(meters, Numbered)
            else list(compress(meters, runs.tolist())),
            self.offsets[runs],
            self.timestamps[runs],
            self.counts[runs],
            self.starts[runs],
            self.intervals[runs],
            self.watts[np.repeat(runs, self.counts)],
            rejects,
            next_offset,
        )

    def kept(self, runs: Mask) -> "Readings":
        """Some of the runs, and none of the rejects."""
        return self if runs.all() else self.chosen(runs, [], self.next_offset)

    def without_seconds(self) -> "Readings":
        """The same; records whose times are of seconds, though milliseconds were meant, rejected.

        Postcondition: which are follows from each record alone.
        """
        begin, end = TODAY_IN_SECONDS
        if not len(self.starts) or int(self.starts.min()) >= end:
            return self
        wrong = np.isin(self.offsets, self.offsets[(self.starts >= begin) & (self.starts < end)])
        if not wrong.any():
            return self
        found = [Reject(at, Reason.IN_SECONDS) for at in np.unique(self.offsets[wrong]).tolist()]
        return self.chosen(~wrong, sorted([*self.rejects, *found]), self.next_offset)

    def ahead(self, skew: int) -> Mask:
        """Which runs end later than so long after their records were written."""
        ahead: Mask = self.ends > self.timestamps + skew
        return ahead

    def between(self, first: int, until: int) -> "Readings | None":
        """The records from an offset on and before another; nothing if there is none."""
        runs = (self.offsets >= first) & (self.offsets < until)
        rejects = [reject for reject in self.rejects if first <= reject.offset < until]
        if runs.all() and len(rejects) == len(self.rejects):
            return self
        last = [*self.offsets[runs][-1:].tolist(), *(reject.offset for reject in rejects[-1:])]
        return self.chosen(runs, rejects, max(last) + 1) if last else None

    def halves(self) -> Iterator["Readings"]:
        """The first half of the runs, and the others. Precondition: there are two or more."""
        middle, first = len(self.offsets) // 2, int(self.offsets[0])
        if first < self.offsets[-1]:  # a record of several runs stays whole
            middle = max(middle, int(np.searchsorted(self.offsets, first, "right")))
            return self.split(int(self.offsets[middle]))
        return self._torn(middle)

    def _torn(self, run: int) -> Iterator["Readings"]:
        """One record of several runs, in two."""
        before = np.arange(len(self.offsets)) < run
        yield self.chosen(before, self.rejects, int(self.offsets[0]))
        yield self.chosen(~before, [], self.next_offset)

    def split(self, offset: int) -> Iterator["Readings"]:
        """What stands before an offset, and what from it on; whole if there is only one."""
        first = min([*self.offsets[:1].tolist(), *(r.offset for r in self.rejects[:1])], default=0)
        if not first < offset < self.next_offset:
            yield self
            return
        before = self.offsets < offset
        yield self.chosen(before, [r for r in self.rejects if r.offset < offset], offset)
        since = [r for r in self.rejects if r.offset >= offset]
        yield self.chosen(~before, since, self.next_offset)


def joined(parts: Sequence[Readings]) -> Readings | None:
    """Several in a row as one, if there are any. Precondition: offsets ascend from one to the next.

    Ids stay numbered where all are by one list.
    """
    if not parts:
        return None
    first, *others = parts
    if not others:
        return first

    def column(name: str) -> Any:  # noqa: ANN401 - of readings it is of floats
        return np.concatenate([getattr(part, name) for part in parts])

    return Readings(
        _meters(parts),
        column("offsets"),
        column("timestamps"),
        column("counts"),
        column("starts"),
        column("intervals"),
        column("watts"),
        [reject for part in parts for reject in part.rejects],
        parts[-1].next_offset,
    )


def _meters(parts: Sequence[Readings]) -> list[str] | Numbered:
    known = [part.meters for part in parts if isinstance(part.meters, Numbered)]
    if len(known) == len(parts) and all(one.names is known[0].names for one in known):
        return Numbered(known[0].names, np.concatenate([one.numbers for one in known]))
    return [meter for part in parts for meter in part.meters]
