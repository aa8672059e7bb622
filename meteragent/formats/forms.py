"""What a format has to do, and which formats files are written in.

A new one is a module beside this one and the line that chooses it: of messages and of what is
written to Kafka in `kafka.handover.Shared`, of lines in `lines.decoder_of`, of files below.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from meteragent.formats.csv_encoder import CsvEncoder
from meteragent.formats.encoder import Encoder
from meteragent.privacy.policy import Policy
from meteragent.stream.readings import Readings
from meteragent.stream.releases import Releases


class MessageDecoder(Protocol):
    """Reads messages; many partitions share one."""

    def decode(
        self,
        values: Sequence[bytes | None],
        offsets: Sequence[int],
        timestamps: Sequence[int],
    ) -> Readings:
        """The columns of a batch.

        Precondition: at least one message; offsets ascend. Postcondition: each is one run or one
        reject, in order, and which of them depends on its own bytes alone.
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


OUTPUTS: dict[str, Callable[[Iterable[Policy]], ReleaseEncoder]] = {
    "json": lambda _: Encoder(),
    "csv": CsvEncoder,
}
"""What files are written in, by the name that the command line has for it."""
