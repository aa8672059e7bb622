"""What a format has to do.

A new one is a module beside this one and the line that chooses it: of messages in
`messages.message_decoder`, of lines in `lines.decoder_of`, of what is written to Kafka in
`kafka.handover.Shared`, of the files that are written in `commands.arguments.OUTPUTS`.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from meteragent.formats.json_one import LATEST, LONGEST_METER
from meteragent.privacy.arrays import Integers
from meteragent.privacy.policy import Policy
from meteragent.stream.readings import Readings
from meteragent.stream.releases import Releases, Withheld

Payloads = Sequence[bytes | None]
"""Of messages; one that has none is a tombstone."""
Numbers = Sequence[int]


class Body(Protocol):
    """Reads messages as documents: JSON, or what says the same in another way."""

    def one(self, message: bytes | None) -> dict[str, Any]:
        """What it says, as JSON would. BadRecord: it is none, and why."""

    def many(self, messages: Sequence[bytes]) -> list[dict[str, Any]] | None:
        """What each says, sooner; or None, where that is not surely what `one` says of each."""


class MessageDecoder(Protocol):
    """Reads messages; many partitions share one."""

    def decode(self, values: Payloads, offsets: Numbers, timestamps: Numbers) -> Readings:
        """The columns of a batch.

        Precondition: at least one message; offsets ascend. Postcondition: each is one run or
        several, or one reject, in order, and which of them depends on its own bytes alone: any
        split of the batch gives the same columns.
        """


class ReleaseEncoder(Protocol):
    """Writes releases."""

    @property
    def header(self) -> bytes:
        """The line before the first release of a file, or nothing."""

    def encode(self, releases: Releases) -> list[bytes]:
        """One document per window, in their order; as a line, it is ended by whoever writes it.

        Postcondition: a document is a function of its own window and policy alone, and tells
        nothing of answers that were not granted, nor of presence where that is private.
        """


LONGEST_CHARACTER = "\U0010ffff"
"""No other one takes more bytes when it is escaped."""
LONGEST_FLOAT = -2.2250738585072014e-308


def longest_release(encoder: ReleaseEncoder, policy: Policy) -> int:
    """How many bytes a release of this policy can take at most, whatever is in it."""
    outputs = sum(q.query.outputs(policy.slots) for q in policy.questions)
    levels = policy.domain.watts(np.arange(policy.domain.top + 1))
    longest = max(levels.tolist(), key=lambda watts: len(repr(watts)))
    meter = LONGEST_CHARACTER * LONGEST_METER
    starts = _late(policy)
    many = len(starts)
    granted, held = np.full(many, len(policy.questions)), np.full(many, policy.slots)
    present = np.ones((many, policy.slots), dtype=np.bool_)
    values, unbiased = (np.full((many, outputs), watts) for watts in (longest, LONGEST_FLOAT))
    why = [Withheld.NOTHING] * many
    releases = Releases(
        policy, [meter] * many, starts, granted, why, held, present, values, unbiased
    )
    return max(map(len, encoder.encode(releases)))


def _late(policy: Policy) -> Integers:
    """When late windows begin, one for each choice of what windows are asked."""
    if not policy.asking.of_hours:
        return np.array([LATEST])
    windows = policy.windows
    starts = windows.start(windows.newest(LATEST) - np.arange(len(windows.every)))
    _, one_of_each = np.unique(policy.asking.of(starts), axis=0, return_index=True)
    return starts[one_of_each]
