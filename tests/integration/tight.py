"""A fleet with little budget, and blocks of readings for it: two windows an hour, and no more."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.integration.fleet import Fleet
from tests.integration.oracle import read

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

BUDGET = 2
"""Windows that are released of a meter within an hour."""
SLOT = 10_000
WINDOW = 3 * SLOT
HOUR = 3_600_000


@dataclass
class Tight(Fleet):
    """Its first policy pays for two windows an hour; no horizon is longer."""

    def write(self) -> None:
        super().write()
        text = self.file.read_text()
        tight = text.replace('budget = "6"\nhorizon = "2m"', 'budget = "3"\nhorizon = "1h"')
        tight = tight.replace('budget = "24"\n', 'budget = "24"\nhorizon = "1h"\n')
        assert tight != text
        self.file.write_text(tight)


def blocks(
    meters: Iterable[str], windows: int, *, ago: int = HOUR // 6
) -> Iterator[tuple[str, bytes]]:
    """A block a window of each meter, the last of which ended so long ago."""
    begin = (int(time.time() * 1000) - ago) // WINDOW * WINDOW - windows * WINDOW
    for window in range(windows):
        for meter in meters:
            block = {"meter_id": meter, "start": begin + window * WINDOW, "interval_ms": SLOT}
            yield meter, json.dumps(block | {"values": [400, 410, 420]}).encode()


async def released(fleet: Fleet) -> Counter[str]:
    """Windows that were released of each meter, in all partitions together."""
    found: Counter[str] = Counter()
    for (meter, _), status in (await decided(fleet)).items():
        found[meter] += status == "released"
    return found


async def decided(fleet: Fleet) -> dict[tuple[str, int], str]:
    """(meter, start of a window) -> what became of it; none is decided twice."""
    found: dict[tuple[str, int], str] = {}
    for partition in range(fleet.partitions):
        for record in await read(fleet.servers, fleet.config.kafka.output, partition):
            document = json.loads(record.value)
            window = document["meter_id"], document["window_start"]
            assert window not in found, "a window is decided twice"
            found[window] = document["status"]
    return found
