"""Answers come whole, however they are cut on the way; and it is the aiokafka we know."""

from __future__ import annotations

import asyncio
import inspect
from collections import deque
from hashlib import sha256
from struct import pack
from typing import TYPE_CHECKING, Any

import pytest
from aiokafka.client import AIOKafkaClient
from aiokafka.conn import AIOKafkaConnection, AIOKafkaProtocol, CloseReason
from aiokafka.protocol.fetch import FetchRequest
from hypothesis import given
from hypothesis import strategies as st

from meteragent.kafka.receive import LARGE, InPlace
from meteragent.process import loop

if TYPE_CHECKING:
    from collections.abc import Callable
    from io import BytesIO

KNOWN = {
    AIOKafkaClient._get_conn: "68ce5d8391719d33",
    AIOKafkaConnection.connect: "b0f9ba7f0cf6b432",
    AIOKafkaConnection.send: "5909ea32f4efca49",
    AIOKafkaConnection.close: "28f164aa1e4f0bbc",
    AIOKafkaConnection._read: "7b892995c0b81468",
    AIOKafkaConnection._handle_frame: "46a7d9b8cf7ca222",
    AIOKafkaConnection._on_read_task_error: "b770145884887544",
    AIOKafkaProtocol: "0f94e2d601522f90",
}
"""What `kafka/receive.py` stands on, or does its own way: digests of the sources that were read."""


@pytest.mark.parametrize("inside", KNOWN, ids=lambda inside: inside.__qualname__)
def test_aiokafka_is_as_it_was_read(inside: Callable[..., Any]) -> None:
    """Where it is not: read it again, mend `kafka/receive.py`, and write the new digest here."""
    digest = sha256(inspect.getsource(inside).encode()).hexdigest()[:16]
    assert digest == KNOWN[inside], f"{inside.__qualname__} is now {digest}"


class Future:
    """Holds an answer."""

    answer: bytes | memoryview | None = None

    def done(self) -> bool:
        return self.answer is not None

    def set_result(self, answer: bytes | memoryview) -> None:
        self.answer = answer


class Request:
    """Wants an answer as it comes."""

    API_KEY = FetchRequest.API_KEY

    class RESPONSE_TYPE:  # noqa: N801 - aiokafka's name
        @staticmethod
        def decode(data: BytesIO) -> bytes | memoryview:
            return data.read(2 * LARGE)

    def parse_response_header(self, data: BytesIO) -> None:
        data.read(4)


class Conn:
    """What is asked of a connection."""

    def __init__(self, answers: list[bytes]) -> None:
        self.handled: list[bytes] = []
        self.closed: list[tuple[CloseReason, BaseException]] = []
        self._requests = deque((nth, Request(), Future()) for nth in range(len(answers)))
        self.futures = [future for _, _, future in self._requests]
        self._last_action = 0.0
        self._loop = asyncio.new_event_loop()
        self._loop.close()

    def _handle_frame(self, frame: bytes) -> None:
        if frame == b"\0\0\0\0wrong":
            raise ValueError("wrong")
        self.handled.append(frame)
        self._requests.popleft()

    def close(self, reason: CloseReason, exc: BaseException) -> None:
        self.closed.append((reason, exc))


class Before:
    """Hears of the rest."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return lambda *_: self.heard.append(name)


def pour(protocol: InPlace, stream: bytes, pieces: list[int]) -> None:
    """As a loop does: no more at once than there is room for."""
    at = 0
    while at < len(stream):
        room = protocol.get_buffer(-1)
        size = min(len(room), len(stream) - at, pieces[at % len(pieces)])
        room[:size] = stream[at : at + size]
        at += size
        protocol.buffer_updated(size)


@given(
    st.lists(st.one_of(st.integers(1, 20), st.just(LARGE), st.just(LARGE + 7)), max_size=4),
    st.lists(st.integers(1, 3 * LARGE), min_size=1, max_size=9),
)
def test_answers_come_whole_and_in_order(lengths: list[int], pieces: list[int]) -> None:
    answers = [pack(">i", nth) + bytes([nth + 1]) * length for nth, length in enumerate(lengths)]
    conn = Conn(answers)
    protocol = InPlace(conn, Before())
    pour(protocol, b"".join(pack(">i", len(a)) + a for a in answers), [*map(int, pieces)])
    large = [len(answer) >= LARGE for answer in answers]
    small = [answer for answer, is_large in zip(answers, large, strict=True) if not is_large]
    assert conn.handled == small
    for future, answer, is_large in zip(conn.futures, answers, large, strict=True):
        assert future.answer == (answer[4:] if is_large else None)
    assert not conn._requests
    assert not conn.closed


class Asked(Request):
    """Wants something else than records."""

    API_KEY = FetchRequest.API_KEY + 1


@pytest.mark.parametrize("kind", [Request, Asked])
def test_records_stay_where_they_were_received_and_nothing_else_does(kind: type[Request]) -> None:
    conn = Conn([b""])
    conn._requests = deque([(0, kind(), conn.futures[0])])
    answer = pack(">i", 0) + b"x" * (LARGE + 1)
    pour(InPlace(conn, Before()), pack(">i", len(answer)) + answer, [LARGE])
    found = conn.futures[0].answer
    assert found == answer[4:]
    assert isinstance(found, memoryview) == (kind is Request)


def test_an_answer_to_another_request_is_for_aiokafka_to_refuse() -> None:
    conn = Conn([b""])
    stranger = pack(">i", 99) + b"x" * LARGE
    pour(InPlace(conn, Before()), pack(">i", len(stranger)) + stranger, [LARGE])
    assert conn.handled == [stranger]


def test_what_cannot_be_read_ends_the_connection_and_so_does_its_end() -> None:
    conn, before = Conn([b""]), Before()
    protocol = InPlace(conn, before)
    pour(protocol, pack(">i", 9) + b"\0\0\0\0wrong", [99])
    assert protocol.eof_received() is False
    protocol.connection_lost(None)
    protocol.pause_writing()
    protocol.resume_writing()
    reasons = [reason for reason, _ in conn.closed]
    assert reasons == [CloseReason.CONNECTION_BROKEN] * 3
    assert isinstance(conn.closed[0][1], ValueError)
    assert before.heard == ["eof_received", "connection_lost", "pause_writing", "resume_writing"]


def test_what_is_freed_is_kept_where_the_library_can(monkeypatch: pytest.MonkeyPatch) -> None:
    assert loop.keep_memory()
    monkeypatch.setattr(loop, "CDLL", lambda _: object())
    assert not loop.keep_memory()
