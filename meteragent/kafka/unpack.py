"""Batches of the input -> columns."""

from meteragent.formats.forms import MessageDecoder
from meteragent.kafka.fetch import Fetched, batch
from meteragent.stream.readings import Readings


class Unpacker:
    """Reads batches: aiokafka unpacks them, a decoder reads their values."""

    def __init__(self, decoder: MessageDecoder) -> None:
        self._decoder = decoder

    def columns(self, fetched: Fetched) -> Readings | None:
        """What the records hold that are wanted of these; nothing if none is."""
        wanted = [
            (record.value, record.offset, record.timestamp)
            for at, end in fetched.spans
            for record in batch(fetched.raw, at, end)
            if fetched.first <= record.offset < fetched.until
        ]
        return self._decoder.decode(*zip(*wanted, strict=True)) if wanted else None
