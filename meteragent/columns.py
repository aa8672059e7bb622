"""What flows between the codec and the pipeline: batches as columns.

A *record* is a Kafka message or a line of a file; a *run* is what one good record holds, a
single reading or an interval block of consecutive ones.
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from meteragent.domain import Watts
from meteragent.policy import Policy

Integers = NDArray[np.int64]


class Reason(StrEnum):
    """Why a record was rejected whole. Never says what it held."""

    EMPTY = "empty"
    TOO_LARGE = "too_large"
    NOT_JSON = "not_json"
    NOT_UTF8 = "not_utf8"
    WRONG_SHAPE = "wrong_shape"
    BAD_METER = "bad_meter"
    BAD_TIME = "bad_time"
    BAD_VALUE = "bad_value"
    BAD_UNIT = "bad_unit"
    BAD_INTERVAL = "bad_interval"
    FUTURE = "future"
    NO_POLICY = "no_policy"


@dataclass(frozen=True, slots=True)
class Reject:
    """One rejected record, by its coordinates only."""

    offset: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class Readings:
    """The good records of a batch, in record order, and the bad ones.

    `meters`, `offsets`, `timestamps` and `counts` have an entry per run; `times` and `watts`
    an entry per reading, run after run. A reading without a value is NaN watts: its slot
    stays absent.
    """

    meters: list[str]
    offsets: Integers
    """Where each run's record stands in its partition."""
    timestamps: Integers
    """When each run's record was written, in milliseconds since the epoch."""
    counts: Integers
    """How many readings each run holds."""
    times: Integers
    watts: Watts
    rejects: list[Reject]
    next_offset: int
    """One past the last record of the batch, good or bad."""


class Withheld(StrEnum):
    """Why a window, or some of its queries, was not released."""

    NOTHING = ""
    BUDGET = "budget"
    COVERAGE = "coverage"


@dataclass(frozen=True, slots=True)
class Releases:
    """Decided windows of one policy: the only thing that leaves the trusted side.

    `granted` counts the leading queries that are released, all or fewer; their outputs stand
    in the first columns of `values` and `unbiased`, what stands behind them is no release.
    """

    policy: Policy
    meters: list[str]
    starts: Integers
    granted: Integers
    withheld: list[Withheld]
    present: NDArray[np.bool_]
    """present[window, slot]: public only where the policy says that presence is."""
    values: Watts
    """values[window, output]: in range, universally optimal."""
    unbiased: Watts
    """unbiased[window, output]: right on average, for sums over many windows or homes."""
