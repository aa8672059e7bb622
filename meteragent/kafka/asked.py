"""One question to a server over HTTP, and its answer: in time, over TLS, with a password.

A registry is asked a few times in the life of an agent, once for each schema: so the standard
library's client is enough, on a thread beside the loop. Nothing follows a redirection, so that a
password goes nowhere but where it was meant to.
"""

import asyncio
import socket
import ssl
from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from pydantic_core import from_json, to_json

from meteragent.config.registry import Registry
from meteragent.errors import RegistryRefused, RegistryUnreachable

MOST_BYTES = 4 * 2**20
"""Of an answer."""

KIND = "application/vnd.schemaregistry.v1+json"
_HEADERS = {"Accept": f"{KIND}, application/json, */*", "User-Agent": "meteragent"}


class HttpAnswer(NamedTuple):
    """What a server answers."""

    status: int
    text: bytes

    @property
    def document(self) -> Any:  # noqa: ANN401 - JSON is anything
        """What it says, or None: it is no JSON, or too much of it."""
        try:
            return from_json(self.text) if len(self.text) <= MOST_BYTES else None
        except ValueError:
            return None


class RegistryCaller:
    """Asks one registry."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._url = registry.url or ""

    async def _asked(
        self, method: str, path: str, body: Mapping[str, str] | None = None
    ) -> HttpAnswer:
        """What it answers, unless it is that it cannot, or will not to us."""
        seconds = self._registry.request_timeout / 1000
        try:
            connection, headers = await asyncio.to_thread(self._prepared, seconds)
            text = None if body is None else to_json(dict(body))
            if text is not None:
                headers["Content-Type"] = KIND
            prefix = urlsplit(self._url).path.rstrip("/")
            asking = partial(_exchange, connection, method, prefix + path, text, headers)
            async with asyncio.timeout(2 * seconds):  # to the last byte of an answer that drips
                try:
                    said = await asyncio.to_thread(asking)
                finally:
                    _cut(connection)
        except ssl.SSLCertVerificationError as error:
            problem = f"its certificate is not trusted ({error.verify_message})"
            raise self._refused(problem, "check kafka.registry.ca_file") from error
        except ssl.SSLError as error:
            raise self._refused("TLS was refused", "check url, cert_file and key_file") from error
        except (OSError, HTTPException) as error:
            raise RegistryUnreachable(self._url, type(error).__name__) from error
        self._refuse_status(said.status)
        return said

    def _prepared(self, seconds: float) -> tuple[HTTPConnection, dict[str, str]]:
        """A connection that is not made yet, and what is said first; secrets are read anew."""
        registry, address = self._registry, urlsplit(self._url)
        headers = dict(_HEADERS)
        if registry.username is not None:
            login = f"{registry.username}:{registry.read_password() or ''}"
            headers["Authorization"] = f"Basic {b64encode(login.encode()).decode()}"
        if address.scheme == "http":
            return HTTPConnection(registry.host, address.port, timeout=seconds), headers
        context = ssl.create_default_context(cafile=registry.ca_file)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if registry.cert_file:
            password = registry.read_key_password() or ""  # or OpenSSL asks the terminal
            context.load_cert_chain(registry.cert_file, registry.key_file, password)
        tls = HTTPSConnection(registry.host, address.port, timeout=seconds, context=context)
        return tls, headers

    def _refuse_unless_good(self, said: HttpAnswer) -> None:
        """Refuse what is no answer to a question that can be answered."""
        if said.status != HTTPStatus.OK:
            problem = f"it answers {said.status}"
            raise self._refused(problem, "check url, and the rights of username")

    def _refuse_status(self, status: int) -> None:
        if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            raise self._refused("the login was refused", "check username and its password")
        if status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise RegistryUnreachable(self._url, f"it answers {status}")

    def _refused(self, problem: str, instead: str) -> RegistryRefused:
        return RegistryRefused(self._url, problem, instead)

    def _odd(self) -> RegistryRefused:
        return self._refused("it does not answer as a registry does", "check url")


def _exchange(
    connection: HTTPConnection, method: str, path: str, body: bytes | None, headers: dict[str, str]
) -> HttpAnswer:
    connection.request(method, path, body, headers)
    response = connection.getresponse()
    return HttpAnswer(response.status, response.read(MOST_BYTES + 1))


def _cut(connection: HTTPConnection) -> None:
    """End a connection, and the thread that may still wait for an answer."""
    with suppress(OSError, AttributeError):  # there may be none any more
        connection.sock.shutdown(socket.SHUT_RDWR)
    connection.close()
