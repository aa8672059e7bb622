from __future__ import annotations

import asyncio
import gzip
import ssl
import subprocess
from base64 import b64encode
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from meteragent.config import Http
from meteragent.errors import InvalidSetting
from meteragent.watch import web
from meteragent.watch.http_message import BadRequest, Response, packed, parsed
from meteragent.watch.web import Page, serving
from tests.watch.browse import connect, exchange, get, parse

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

T = TypeVar("T")

HELLO = Page(lambda _: Response(b"hello\n", "text/plain"))
LONG = Page(lambda asked: packed(Response(b"long " * 1000, "text/plain"), asked))
MUCH = 2**24
"""Bytes: more than any buffer on the way holds."""
HUGE = Page(lambda _: Response(b"x" * MUCH, "text/plain"))


def fails(_: object) -> Response:
    raise KeyError("meter 17 drew 412 W")


PAGES = {
    "/": HELLO,
    "/long": LONG,
    "/huge": HUGE,
    "/broken": Page(fails),
    "/open": Page(lambda _: Response(b"open\n", "text/plain"), open=True),
}


def served(scenario: Callable[[str], Awaitable[T]], **settings: object) -> T:
    """What a scenario finds at the address of a server."""

    async def run() -> T:
        http = Http.model_validate({"port": 0, **settings})
        async with serving(http, PAGES) as address:
            return await scenario(address)

    return asyncio.run(run())


def answered(request: bytes, **settings: object) -> bytes:
    return served(lambda address: exchange(address, request), **settings)


def test_a_page_is_served_and_the_connection_closed() -> None:
    reply = served(get)
    assert (reply.status, reply.body) == (200, b"hello\n")
    assert reply.headers["Content-Length"] == "6"
    assert reply.headers["Connection"] == "close"
    assert reply.headers["X-Content-Type-Options"] == "nosniff"
    assert reply.headers["Cache-Control"] == "no-store"


def test_a_head_is_a_page_without_its_body() -> None:
    reply = parse(answered(b"HEAD /long HTTP/1.0\r\n\r\n"))
    assert (reply.status, reply.body) == (200, b"")
    assert reply.headers["Content-Length"] == "5000"


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", 200),
        (b"GET /?x=1 HTTP/1.1\r\nHost: a\r\n\r\n", 200),
        (b"GET / HTTP/1.0\r\n\r\n", 200),
        (b"GET /none HTTP/1.1\r\nHost: a\r\n\r\n", 404),
        (b"GET //etc/passwd HTTP/1.1\r\nHost: a\r\n\r\n", 404),
        (b"POST / HTTP/1.1\r\nHost: a\r\n\r\n", 405),
        (b"BREW / HTTP/1.1\r\nHost: a\r\n\r\n", 405),
        (b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello", 413),
        (b"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 413),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\x00\r\n\r\n", 400),
        (b"GET / HTTP/1.1\nHost: a\r\n\r\n", 400),
        (b"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 400),
        (b"GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"get / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\r\n\r\n", 400),
        (b"\r\n\r\n", 400),
        (b"GET /" + b"a" * 2000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 9000 + b"\r\n\r\n", 431),
        (b"a" * 100_000, 431),
    ],
)
def test_what_is_doubtful_is_refused(request_: bytes, status: int) -> None:
    assert parse(answered(request_)).status == status


@given(st.binary(max_size=200))
def test_no_bytes_upset_the_parser(noise: bytes) -> None:
    for head in (noise, b"GET / HTTP/1.1\r\nHost: a\r\n" + noise + b"\r\n\r\n"):
        with suppress(BadRequest):
            assert parsed(head).method in {"GET", "HEAD"}


def test_who_hangs_up_early_harms_nobody() -> None:
    async def scenario(address: str) -> int:
        for part in (b"", b"GET / HT", b"GET /huge HTTP/1.0\r\n\r\n"):
            _, writer = await connect(address)
            writer.write(part)
            await writer.drain()
            writer.transport.abort()
        return (await get(address)).status

    assert served(scenario) == 200


def test_a_slow_request_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "REQUEST_SECONDS", 0.05)
    assert answered(b"GET / HTTP/1.1\r\n") == b""


def test_a_slow_reader_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "ANSWER_SECONDS", 0.05)
    monkeypatch.setattr(web, "LINGER_SECONDS", 0.05)

    async def scenario(address: str) -> int:
        reader, writer = await connect(address)
        writer.write(b"GET /huge HTTP/1.0\r\n\r\n")
        await asyncio.sleep(0.5)  # it is the server's patience that is measured
        got = 0
        with suppress(ConnectionError):
            while some := await reader.read(2**20):
                got += len(some)
        writer.close()
        return got

    assert 0 < served(scenario) < MUCH


def test_a_large_answer_arrives_whole() -> None:
    assert len(parse(answered(b"GET /huge HTTP/1.0\r\n\r\n")).body) == MUCH


def test_too_many_connections_are_turned_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "MOST_CONNECTIONS", 2)

    async def scenario(address: str) -> tuple[bytes, int]:
        waiting = [await connect(address) for _ in range(2)]
        for _, writer in waiting:
            writer.write(b"GET ")
        refused = b""
        with suppress(ConnectionError):
            refused = await exchange(address, b"GET / HTTP/1.0\r\n\r\n")
        for reader, writer in waiting:
            writer.write(b"/ HTTP/1.0\r\n\r\n")
            assert await reader.read()
            writer.close()
        return refused, (await get(address)).status

    assert served(scenario) == (b"", 200)


def test_a_page_that_fails_tells_the_log_where_and_nobody_what() -> None:
    with capture_logs() as lines:
        reply = served(lambda address: get(address, "/broken"))
    assert (reply.status, reply.body) == (500, b"Internal Server Error\n")
    assert [line["event"] for line in lines] == ["listening", "status page failed"]


def test_what_is_long_is_packed_for_who_can_unpack_it() -> None:
    plain = served(lambda address: get(address, "/long"))
    small = served(lambda address: get(address, "/long", Accept_Encoding="br, gzip"))
    assert plain.headers["Vary"] == small.headers["Vary"] == "Accept, Accept-Encoding"
    assert small.headers["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in plain.headers
    assert gzip.decompress(small.body) == plain.body


def basic(text: bytes) -> str:
    return f"Basic {b64encode(text).decode()}"


@pytest.mark.parametrize(
    ("given_", "status"),
    [
        (basic(b"me:s3cret: yes"), 200),
        ("basic " + basic(b"me:s3cret: yes").partition(" ")[2], 200),
        (basic(b"me:s3cret: ye"), 401),
        (basic(b"you:s3cret: yes"), 401),
        (basic(b""), 401),
        ("Basic !!", 401),
        ("Bearer x", 401),
        ("", 401),
    ],
)
def test_a_password_opens_all_but_the_probes(given_: str, status: int) -> None:
    login = {"username": "me", "password": "s3cret: yes"}
    reply = served(lambda address: get(address, Authorization=given_), **login)
    assert reply.status == status
    assert ("WWW-Authenticate" in reply.headers) == (status == 401)
    assert served(lambda address: get(address, "/none"), **login).status == 401
    assert served(lambda address: get(address, "/open"), **login).status == 200


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    directory = tmp_path_factory.mktemp("tls")
    cert, key = directory / "cert.pem", directory / "key.pem"
    make = (
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost"
    )
    extra = [
        "-addext",
        "subjectAltName=DNS:localhost,IP:127.0.0.1",
        "-keyout",
        str(key),
        "-out",
        str(cert),
    ]
    subprocess.run(["openssl", *make.split(), *extra], check=True, capture_output=True)  # noqa: S603, S607
    return cert, key


def test_tls_is_spoken(certificate: tuple[Path, Path]) -> None:
    cert, key = certificate
    trusting = ssl.create_default_context(cafile=str(cert))

    async def scenario(address: str) -> tuple[str, int, bytes, int]:
        long = await get(address, "/huge", trusting)
        plain = b"refused"
        with suppress(ConnectionError):
            plain = await exchange(address, b"GET / HTTP/1.0\r\n\r\n")
        return address, long.status, plain, len(long.body)

    address, status, plain, length = served(scenario, cert_file=str(cert), key_file=str(key))
    assert address.startswith("https://127.0.0.1:")
    assert (status, length) == (200, MUCH)
    assert not plain.startswith(b"HTTP")


def test_a_key_that_does_not_fit_is_refused(certificate: tuple[Path, Path]) -> None:
    cert, _ = certificate
    with pytest.raises(InvalidSetting, match=r"^http.cert_file: cannot be used"):
        served(get, cert_file=str(cert), key_file=str(cert))


def test_a_port_that_is_taken_is_named() -> None:
    async def scenario(address: str) -> None:
        port = int(address.rpartition(":")[2])
        async with serving(Http.model_validate({"port": port}), PAGES):
            pass

    with pytest.raises(InvalidSetting, match=r"^http.port: 127.0.0.1:\d+ cannot be .*in use"):
        served(scenario)


def test_a_host_that_is_none_is_named() -> None:
    with pytest.raises(InvalidSetting, match=r"^http.port: host.invalid:0 cannot be"):
        served(get, host="host.invalid")


def test_who_still_waits_is_let_go_at_the_end(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> bytes:
        async with serving(Http(port=0), PAGES) as address:
            reader, writer = await connect(address)
            writer.write(b"GET / ")
            await get(address)  # by now the other is being served as well
        rest = await reader.read()
        writer.close()
        return rest

    assert asyncio.run(run()) == b""
    assert caplog.records == []
