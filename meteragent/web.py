"""A small and strict HTTP/1.1 server: GET and HEAD, one request per connection, no bodies.

What the agent shows needs no more, and what is not there cannot be attacked. Every request
has a deadline and a limit, every answer the headers that keep browsers from mischief.
"""

import asyncio
import gzip
import hashlib
import hmac
import os
import re
import ssl
from base64 import b64decode
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from http import HTTPStatus

import structlog

from meteragent import trace
from meteragent.config import Http
from meteragent.errors import InvalidSetting

LONGEST_HEAD = 8192
"""Bytes of a request."""
REQUEST_SECONDS = 5.0
ANSWER_SECONDS = 10.0
LINGER_SECONDS = 1.0
MOST_CONNECTIONS = 100
REALM = 'Basic realm="meteragent", charset="UTF-8"'
COMMON = {
    "Cache-Control": "no-store",
    "Connection": "close",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

_REQUEST = re.compile(r"([A-Z]{1,16}) (/[!-~]{0,1023}) HTTP/1\.([01])", re.ASCII)
_FIELD = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t -~]*)", re.ASCII)

_SINGLE = ("host", "authorization", "content-length")
_SMALL = 1024  # bytes that are not worth packing

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Answer:
    """What is sent back."""

    body: bytes
    kind: str
    status: HTTPStatus = HTTPStatus.OK
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked, as far as it matters; names of headers are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Page:
    """How a path is answered; `open` ones need no password, because probes have none."""

    answer: Callable[[Request], Answer]
    open: bool = False


class Refused(Exception):
    """A request that is not answered as it wishes."""

    def __init__(self, status: HTTPStatus, **headers: str) -> None:
        super().__init__(status.phrase)
        self.status = status
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


@asynccontextmanager
async def serving(http: Http, pages: Mapping[str, Page]) -> AsyncIterator[str]:
    """Serve pages by their paths for as long as the block lasts; gives the address."""
    tls = _tls(http)
    server = _Server(pages, _login(http))
    times = {"ssl_handshake_timeout": REQUEST_SECONDS, "ssl_shutdown_timeout": LINGER_SECONDS}
    try:
        listening = await asyncio.start_server(
            server.meet,
            http.host,
            http.port,
            limit=LONGEST_HEAD,
            ssl=tls,
            **(times if tls else {}),
        )
    except OSError as error:
        resolved = isinstance(error.errno, int) and error.errno > 0
        raise InvalidSetting(
            "http.port",
            f"{http.host}:{http.port} cannot be listened on "
            f"({os.strerror(error.errno) if resolved else 'no such host'})",  # type: ignore[arg-type]
            "write another host or port; port 0 is any that is free",
        ) from error
    host, port = listening.sockets[0].getsockname()[:2]
    address = f"{'https' if tls else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"
    _log.info("listening", address=address)
    try:
        yield address
    finally:
        listening.close()
        await server.hang_up()


class _Server:
    """Answers connections."""

    def __init__(self, pages: Mapping[str, Page], login: bytes | None) -> None:
        self._pages = pages
        self._login = login
        self._connections: set[asyncio.Task[None]] = set()

    async def meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request, whatever it is, and close."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - asyncio runs this as one
        if len(self._connections) >= MOST_CONNECTIONS:
            writer.transport.abort()
            return
        self._connections.add(task)
        try:
            with suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
                await self._converse(reader, writer)
        finally:
            self._connections.discard(task)
            writer.close()
            with suppress(OSError, TimeoutError):
                await asyncio.wait_for(writer.wait_closed(), LINGER_SECONDS)
            writer.transport.abort()

    async def hang_up(self) -> None:
        """Let go of everybody."""
        for connection in self._connections:
            connection.cancel()
        if self._connections:
            await asyncio.wait({*self._connections})

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.set_write_buffer_limits(high=0)  # so that drain means: all is on its way
        async with asyncio.timeout(REQUEST_SECONDS):
            head = await _head(reader)
        answer = self._answer(head)
        async with asyncio.timeout(ANSWER_SECONDS):
            writer.write(encoded(answer, body=not head.startswith(b"HEAD ")))
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
            # Were we to hang up on what is unread, the answer would be thrown away.
            async with asyncio.timeout(LINGER_SECONDS):
                while await reader.read(LONGEST_HEAD):
                    pass

    def _answer(self, head: bytes) -> Answer:
        try:
            request = parsed(head)
            return self._page(request).answer(request)
        except Refused as refused:
            return _plain(refused.status, refused.headers)
        except Exception as error:  # noqa: BLE001 - a page that fails must not end the agent
            _log.error("status page failed", exc_info=error)
            return _plain(HTTPStatus.INTERNAL_SERVER_ERROR, {})

    def _page(self, request: Request) -> Page:
        page = self._pages.get(request.path)
        if not (page and page.open):
            self._refuse_strangers(request)
        if page is None:
            raise Refused(HTTPStatus.NOT_FOUND)
        return page

    def _refuse_strangers(self, request: Request) -> None:
        if self._login is None:
            return
        given = _digest(_credentials(request.headers.get("authorization", "")))
        if not hmac.compare_digest(given, self._login):
            raise Refused(HTTPStatus.UNAUTHORIZED, WWW_Authenticate=REALM)


async def _head(reader: asyncio.StreamReader) -> bytes:
    """All of a request, or what makes it too long."""
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError:
        return b""


def parsed(head: bytes) -> Request:
    """Read a request; what is doubtful is refused."""
    if not head:
        raise Refused(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
    first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    asked = _REQUEST.fullmatch(first)
    found = [_FIELD.fullmatch(line) for line in lines]
    if not asked or not all(found):
        raise Refused(HTTPStatus.BAD_REQUEST)
    fields = [(f[1].lower(), f[2].rstrip(" \t")) for f in found if f]
    headers, names = dict(fields), [name for name, _ in fields]
    method, target, version = asked.groups()
    nameless = version == "1" and "host" not in headers
    if nameless or any(names.count(name) > 1 for name in _SINGLE):
        raise Refused(HTTPStatus.BAD_REQUEST)
    if "transfer-encoding" in headers or headers.get("content-length", "0") != "0":
        raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    if method not in {"GET", "HEAD"}:
        raise Refused(HTTPStatus.METHOD_NOT_ALLOWED, Allow="GET, HEAD")
    return Request(method, target.partition("?")[0], headers)


def encoded(answer: Answer, *, body: bool) -> bytes:
    """An answer as it goes over the wire."""
    headers = {
        "Content-Type": answer.kind,
        "Content-Length": str(len(answer.body)),
        "Date": formatdate(usegmt=True),
        **COMMON,
        **answer.headers,
    }
    lines = [f"HTTP/1.1 {answer.status.value} {answer.status.phrase}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + (answer.body if body else b"")


def packed(answer: Answer, request: Request) -> Answer:
    """Compressed, if it pays and whoever asks can read it."""
    varies = {**answer.headers, "Vary": "Accept, Accept-Encoding"}
    accepted = [part.strip() for part in request.headers.get("accept-encoding", "").split(",")]
    if len(answer.body) < _SMALL or "gzip" not in accepted:
        return replace(answer, headers=varies)
    body = gzip.compress(answer.body, compresslevel=5)
    return replace(answer, body=body, headers={**varies, "Content-Encoding": "gzip"})


def _plain(status: HTTPStatus, headers: Mapping[str, str]) -> Answer:
    return Answer(f"{status.phrase}\n".encode(), "text/plain; charset=utf-8", status, headers)


def _login(http: Http) -> bytes | None:
    """What is compared: digests are of one length, so time tells nothing of the password."""
    if http.username is None:
        return None
    return _digest(f"{http.username}:{http.read_password()}".encode())


def _credentials(header: str) -> bytes:
    scheme, _, token = header.partition(" ")
    try:
        return b64decode(token, validate=True) if scheme.lower() == "basic" else b""
    except ValueError:
        return b""


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).digest()


def _tls(http: Http) -> ssl.SSLContext | None:
    if http.cert_file is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        # Without a password, OpenSSL would ask the terminal for one.
        context.load_cert_chain(http.cert_file, http.key_file, password="")
    except OSError as error:  # ssl.SSLError is one
        raise InvalidSetting(
            "http.cert_file",
            f"cannot be used with key_file ({trace.kind(error)})",
            "write PEM files that belong together",
        ) from error
    return context
