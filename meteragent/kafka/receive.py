"""What brokers answer, received where it stays: an answer to a fetch is some megabytes.

aiokafka's own way gathers what comes, piece by piece, in a buffer, wakes a task for each, and
copies three times. Here a connection that is open gets another protocol: a buffer of the length
that the broker announces, and one call when it is full. Batches of records are looked at where they
are. Small answers, and all that is wrong, are aiokafka's business as before.

This room stands on insides of aiokafka, as `fetch` does; its tests say which.
"""

import asyncio
from struct import Struct
from typing import Any

import numpy as np
from aiokafka.client import AIOKafkaClient
from aiokafka.conn import CloseReason
from aiokafka.protocol.fetch import FetchRequest

LARGE = 2**16
"""What is longer is worth it."""

_LENGTH = Struct(">i")


class InPlaceClient(AIOKafkaClient):  # type: ignore[misc]
    """A client whose connections receive in place."""

    async def _get_conn(self, *which: Any, **how: Any) -> Any:  # noqa: ANN401 - aiokafka's own
        conn = await super()._get_conn(*which, **how)
        if conn is not None:
            InPlace.take_over(conn)
        return conn


class InPlace(asyncio.BufferedProtocol):
    """Receives the answers of one connection; aiokafka's protocol hears of all the rest."""

    def __init__(self, conn: Any, before: Any) -> None:  # noqa: ANN401 - aiokafka's own
        self._conn = conn
        self._now = conn._loop.time  # noqa: SLF001
        self._before = before
        self._head = memoryview(bytearray(_LENGTH.size))
        self._body: memoryview | None = None
        self._missing = self._head

    @classmethod
    def take_over(cls, conn: Any) -> None:  # noqa: ANN401 - aiokafka's own
        """From here on; unless something has come already, or it is so."""
        transport = conn._writer.transport if conn._writer is not None else None  # noqa: SLF001
        if transport is None or isinstance(transport.get_protocol(), cls):
            return
        if conn._requests or conn._reader._buffer:  # noqa: SLF001
            return
        conn._read_task.cancel()  # noqa: SLF001 - it waits for the first letter
        transport.set_protocol(cls(conn, transport.get_protocol()))

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the rest of a length goes, or of an answer."""
        del sizehint
        return self._missing

    def buffer_updated(self, nbytes: int) -> None:
        """So much has come."""
        self._missing = self._missing[nbytes:]
        if self._missing:
            return
        if self._body is None:
            length = _LENGTH.unpack(self._head)[0]
            self._body = memoryview(np.empty(max(length, 0), np.uint8))  # type: ignore[arg-type]
            self._missing = self._body
        if not self._missing:
            answer, self._body, self._missing = self._body, None, self._head
            try:
                self._hand_over(answer)
            except Exception as error:  # noqa: BLE001 - whatever: nobody knows what comes next
                self._break(error)

    def eof_received(self) -> bool:
        """Nothing more comes."""
        self._before.eof_received()
        self._break(ConnectionResetError("the broker has closed the connection"))
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """It is gone."""
        self._before.connection_lost(exc)
        self._break(exc or ConnectionResetError("the connection is lost"))

    def pause_writing(self) -> None:
        """Too much waits to be sent."""
        self._before.pause_writing()

    def resume_writing(self) -> None:
        """No longer."""
        self._before.resume_writing()

    def _break(self, error: Exception) -> None:
        self._conn.close(reason=CloseReason.CONNECTION_BROKEN, exc=error)

    def _hand_over(self, answer: memoryview) -> None:
        """Let the request have its answer that was sent first."""
        conn = self._conn
        correlation, request, future = conn._requests[0]  # noqa: SLF001
        is_its = correlation is not None and _LENGTH.unpack_from(answer)[0] == correlation
        if len(answer) < LARGE or not is_its:
            conn._handle_frame(bytes(answer))  # noqa: SLF001
            return
        data = _Data(answer, in_place=request.API_KEY == FetchRequest.API_KEY)
        request.parse_response_header(data)
        if not future.done():
            future.set_result(request.RESPONSE_TYPE.decode(data))
        conn._last_action = self._now()  # noqa: SLF001 - else it would be taken for idle
        conn._requests.popleft()  # noqa: SLF001


class _Data:
    """Bytes that are read from the beginning on; many stay where they are, `in_place`."""

    def __init__(self, view: memoryview, *, in_place: bool) -> None:
        self._view = view
        self._at = 0
        self._in_place = in_place

    def read(self, count: int) -> bytes | memoryview:
        part = self._view[self._at : self._at + count]
        self._at += count
        return part if self._in_place and count > LARGE else part.tobytes()
