"""A small and strict HTTP/1.1 server: GET and HEAD, one request per connection, no bodies.

What the agent shows needs no more, and what is not there cannot be attacked. Every request
has a deadline and a limit, every answer the headers that keep browsers from mischief.

The server has a thread and a loop of its own, so that somebody answers when the agent's loop is
stuck: that is when it matters. Pages are made on the agent's loop, where what they show does not
change meanwhile; only what is said to be safe `anytime` is not.
"""

import asyncio
import hashlib
import hmac
import os
import ssl
from base64 import b64decode
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from threading import Thread
from typing import Any, TypeVar

import structlog

from meteragent.config import Http
from meteragent.errors import InvalidSetting
from meteragent.watch import trace
from meteragent.watch.http_message import BadRequest, Request, Response, encoded, parsed, plain

LONGEST_HEAD = 8192
"""Bytes of a request."""
REQUEST_SECONDS = 5.0
ANSWER_SECONDS = 10.0
LINGER_SECONDS = 1.0
MOST_CONNECTIONS = 100
REALM = 'Basic realm="meteragent", charset="UTF-8"'
_log = structlog.get_logger()

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page:
    """How a path is answered; `open` ones need no password, because probes have none.

    `anytime`: the answer may be made on any thread, while the agent's loop runs or is stuck.
    """

    answer: Callable[[Request], Response]
    open: bool = False
    anytime: bool = False


@asynccontextmanager
async def serving(http: Http, pages: Mapping[str, Page]) -> AsyncIterator[str]:
    """Serve pages by their paths for as long as the block lasts; gives the address."""
    tls, login = credentials(http)
    server = _Server(pages, login, asyncio.get_running_loop())
    times = {"ssl_handshake_timeout": REQUEST_SECONDS, "ssl_shutdown_timeout": LINGER_SECONDS}
    with _loop_of_its_own() as loop:
        listen = asyncio.start_server(
            server.meet,
            http.host,
            http.port,
            limit=LONGEST_HEAD,
            ssl=tls,
            **(times if tls else {}),
        )
        try:
            listening = await _on(loop, listen)
        except OSError as error:
            raise _cannot_listen(http, error) from error
        host, port = listening.sockets[0].getsockname()[:2]
        address = f"{'https' if tls else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"
        _log.info("listening", address=address)
        try:
            yield address
        finally:
            await _on(loop, server.hang_up(listening))


def credentials(http: Http) -> tuple[ssl.SSLContext | None, bytes | None]:
    """What proves the server to readers, and readers to the server. Raises what is wrong."""
    return _tls(http), _login(http)


def _cannot_listen(http: Http, error: OSError) -> InvalidSetting:
    resolved = isinstance(error.errno, int) and error.errno > 0
    reason = os.strerror(error.errno) if resolved else "no such host"  # type: ignore[arg-type]
    return InvalidSetting(
        "http.port",
        f"{http.host}:{http.port} cannot be listened on ({reason})",
        "write another host or port; port 0 is any that is free",
    )


@contextmanager
def _loop_of_its_own() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, name="http", daemon=True)
    thread.start()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _on(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> T:
    """What the work gives that another loop does."""
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))


class _Server:
    """Answers connections."""

    def __init__(
        self, pages: Mapping[str, Page], login: bytes | None, agents: asyncio.AbstractEventLoop
    ) -> None:
        self._pages = pages
        self._login = login
        self._agents = agents
        self._connections: set[asyncio.Task[None]] = set()

    async def meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Response one request, whatever it is, and close."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - asyncio runs this as one
        if len(self._connections) >= MOST_CONNECTIONS:
            writer.transport.abort()
            return
        self._connections.add(task)
        try:
            # Whom we hang up on is cancelled; were the task to end so, asyncio would complain.
            ends = (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.CancelledError)
            with suppress(*ends):
                await self._converse(reader, writer)
        finally:
            self._connections.discard(task)
            writer.close()
            with suppress(OSError, TimeoutError):
                await asyncio.wait_for(writer.wait_closed(), LINGER_SECONDS)
            writer.transport.abort()

    async def hang_up(self, listening: asyncio.Server) -> None:
        """Let go of everybody."""
        listening.close()
        for connection in self._connections:
            connection.cancel()
        if self._connections:
            await asyncio.wait({*self._connections})

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.set_write_buffer_limits(high=0)  # so that drain means: all is on its way
        async with asyncio.timeout(REQUEST_SECONDS):
            head = await _head(reader)
        answer = await self._answer(head)
        async with asyncio.timeout(ANSWER_SECONDS):
            writer.write(encoded(answer, body=not head.startswith(b"HEAD ")))
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
            # Were we to hang up on what is unread, the answer would be thrown away.
            async with asyncio.timeout(LINGER_SECONDS):
                while await reader.read(LONGEST_HEAD):
                    pass

    async def _answer(self, head: bytes) -> Response:
        try:
            request = parsed(head)
            page = self._page(request)
            if page.anytime:
                return page.answer(request)
            async with asyncio.timeout(ANSWER_SECONDS):
                return await _on(self._agents, _made(page, request))
        except BadRequest as refused:
            return plain(refused.status, refused.headers)
        except TimeoutError:
            return plain(HTTPStatus.SERVICE_UNAVAILABLE, {})
        except Exception as error:  # noqa: BLE001 - a page that fails must not end the agent
            _log.error("status page failed", exc_info=error)
            return plain(HTTPStatus.INTERNAL_SERVER_ERROR, {})

    def _page(self, request: Request) -> Page:
        page = self._pages.get(request.path)
        if not (page and page.open):
            self._refuse_strangers(request)
        if page is None:
            raise BadRequest(HTTPStatus.NOT_FOUND)
        return page

    def _refuse_strangers(self, request: Request) -> None:
        if self._login is None:
            return
        given = _digest(_credentials(request.headers.get("authorization", "")))
        if not hmac.compare_digest(given, self._login):
            raise BadRequest(HTTPStatus.UNAUTHORIZED, WWW_Authenticate=REALM)


async def _made(page: Page, request: Request) -> Response:
    return page.answer(request)


async def _head(reader: asyncio.StreamReader) -> bytes:
    """All of a request, or what makes it too long."""
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError:
        return b""


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
