"""Batches of the input -> columns."""

from collections.abc import Callable
from functools import partial
from typing import Any

from meteragent.errors import BatchRefused
from meteragent.formats import fast
from meteragent.formats.forms import MessageDecoder
from meteragent.formats.framing import Headers, told_by_headers
from meteragent.formats.mapping import Mapping
from meteragent.kafka.walk import MAGIC, Fetched, batch, magic
from meteragent.stream.readings import Readings

LEAST_AHEAD = 2**16
"""Bytes that another thread is asked for: to ask it costs as much as some hundred records."""

ToldBy = Callable[[bytes | None, Headers], bytes | None]


class Unpacker:
    """Reads batches: aiokafka unpacks, a decoder reads what they hold; or the wheel does both."""

    def __init__(self, decoder: MessageDecoder, told_by: ToldBy | None = None) -> None:
        """`told_by` makes of a message and its headers what the decoder reads."""
        self._decoder = decoder
        self._told_by = told_by
        self._fast = fast.reader_for(decoder)

    def ahead(self, fetched: Fetched) -> Callable[[], Any] | None:
        """What another thread may find in these meanwhile; nothing, if that is not worth it.

        Precondition: what was asked for before has been found.
        """
        octets = sum(end - at for at, end in fetched.spans)
        if self._fast is None or octets < LEAST_AHEAD or not _are_new(fetched):
            return None
        return self._fast.asking(fetched.raw, fetched.spans, fetched.first, fetched.until)

    def columns(self, fetched: Fetched) -> Readings | None:
        """What the records hold that are wanted of these; nothing if none is."""
        readings = self._fast_columns(self._fast, fetched) if self._fast else None
        if readings is None:
            readings = self._slow_columns(fetched)
        if readings is None or not (len(readings.offsets) or readings.rejects):
            return None
        return readings.without_seconds()

    def _fast_columns(self, reader: fast.FastReader, fetched: Fetched) -> Readings | None:
        """The same, or nothing because not all is plain."""
        if not _are_new(fetched):
            return None
        try:
            if fetched.found is not None:
                return reader.told(fetched.found())
            return reader.batches(fetched.raw, fetched.spans, fetched.first, fetched.until)
        except OverflowError:
            problem = f"holds more than {fast.MOST_UNPACKED} bytes"
            raise BatchRefused(fetched.first, problem) from None
        except ValueError:
            raise BatchRefused(fetched.first, "is not what was compressed") from None

    def _slow_columns(self, fetched: Fetched) -> Readings | None:
        wanted = [
            (self._message(record), record.offset, record.timestamp)
            for at, end in fetched.spans
            for record in batch(fetched.raw, at, end)
            if fetched.first <= record.offset < fetched.until
        ]
        return self._decoder.decode(*zip(*wanted, strict=True)) if wanted else None

    def _message(self, record: Any) -> bytes | None:  # noqa: ANN401 - aiokafka's own
        value: bytes | None = record.value
        return value if self._told_by is None else self._told_by(value, record.headers)


def _are_new(fetched: Fetched) -> bool:
    """Whether all are batches, and none is what there was before them."""
    return all(magic(fetched.raw, at) == MAGIC for at, _ in fetched.spans)


def unpacker_for(mapping: Mapping, decoder: MessageDecoder) -> Unpacker:
    """One of messages that say their schemas as a mapping says."""
    if mapping.framing != "apicurio-headers":
        return Unpacker(decoder)
    of_protobuf = mapping.written == "protobuf"
    return Unpacker(decoder, partial(told_by_headers, ids=mapping.ids, of_protobuf=of_protobuf))
