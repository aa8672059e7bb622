"""Is what the decoder says what its twin says?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from meteragent.formats.decoder import Decoder
from meteragent.formats.json_one import MOST_BYTES
from tests.twins import codec as twin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from meteragent.stream.readings import Readings

FIRST_OFFSET = 41


def decode(values: Sequence[bytes | None], *, max_bytes: int = MOST_BYTES) -> Readings:
    """Decoded at offsets with gaps, as transactions leave them."""
    offsets = range(FIRST_OFFSET, FIRST_OFFSET + 3 * len(values), 3)
    return Decoder(max_bytes).decode(values, offsets, [10 * offset for offset in offsets])


def plain(readings: Readings) -> twin.Decoded:
    """The columns as plain lists, to be compared exactly."""
    return twin.Decoded(
        [*readings.meters],
        readings.offsets.tolist(),
        readings.timestamps.tolist(),
        readings.counts.tolist(),
        readings.times.tolist(),
        [None if math.isnan(watts) else watts for watts in readings.watts.tolist()],
        [(reject.offset, reject.reason) for reject in readings.rejects],
    )


def assert_as_the_twin_says(values: Sequence[bytes | None], *, max_bytes: int = MOST_BYTES) -> None:
    readings = decode(values, max_bytes=max_bytes)
    offsets = range(FIRST_OFFSET, FIRST_OFFSET + 3 * len(values), 3)
    expected = twin.decode(values, offsets, [10 * offset for offset in offsets], max_bytes)
    assert plain(readings) == expected
    assert readings.next_offset == offsets[-1] + 1
