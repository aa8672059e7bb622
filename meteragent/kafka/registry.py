"""A schema registry, asked over HTTP as Confluent's interface has it.

It is asked a few times in the life of an agent, once for each schema: so the standard library's
client is enough, on a thread beside the loop. Nothing follows a redirection, so that a password
goes nowhere but where it was meant to.
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
from typing import Any
from urllib.parse import quote, urlsplit

from pydantic_core import from_json, to_json

from meteragent.config.registry import Registry
from meteragent.errors import RegistryRefused, RegistryUnreachable
from meteragent.formats.registered import Schema

MOST_BYTES = 4 * 2**20
"""Of an answer."""
MOST_REFERENCES = 100
"""Of a schema, and of those that it refers to."""
DEEPEST = 16

_KIND = "application/vnd.schemaregistry.v1+json"
_HEADERS = {"Accept": f"{_KIND}, application/json", "User-Agent": "meteragent"}
_NOT_THERE = range(40400, 40500)
"""Codes of a registry that answers, and has no such thing."""

Answer = dict[str, Any]


class RegistryClient:
    """Asks one registry."""

    def __init__(self, registry: Registry, *, serialized: bool = False) -> None:
        """`serialized`: schemas are wanted as descriptors, and not as their source."""
        self._registry = registry
        self._url = registry.url or ""
        self._serialized = serialized

    async def schema(self, number: int) -> Schema | None:
        """The schema of this id, with all that it refers to; or None, if there is none.

        RegistryUnreachable: nobody knows. RegistryRefused: it does not tell.
        """
        answer = await self._get(f"/schemas/ids/{number}")
        return None if answer is None else await self._whole(answer, [MOST_REFERENCES], DEEPEST)

    async def subjects(self) -> list[str]:
        """What it has schemas for: to see whether it answers at all."""
        answer = await self._ask("GET", "/subjects")
        if not isinstance(answer, list):
            raise self._odd()
        return [*map(str, answer)]

    async def latest(self, subject: str) -> tuple[int, Schema]:
        """The newest schema of a subject, and its id."""
        answer = await self._get(f"/subjects/{quote(subject, safe='')}/versions/latest")
        if answer is None:
            raise self._odd()
        return self._number(answer), await self._whole(answer, [MOST_REFERENCES], DEEPEST)

    async def registered(self, subject: str, schema: Schema) -> int:
        """The id of a schema for this subject; registered, if it is not there."""
        path = f"/subjects/{quote(subject, safe='')}"
        body = {"schema": schema.text, "schemaType": schema.kind}
        for known in (path, f"{path}/versions"):
            answer = await self._ask("POST", known, body)
            if answer is not None:
                return self._number(answer)
        raise self._odd()

    async def _whole(self, answer: Answer, room: list[int], depth: int) -> Schema:
        """A schema as it was answered, with those that it refers to."""
        text, kind = answer.get("schema"), answer.get("schemaType") or "AVRO"
        references = answer.get("references") or []
        if not isinstance(text, str) or not isinstance(kind, str) or not depth:
            raise self._odd()
        found = {}
        for reference in references if isinstance(references, list) else ():
            room[0] -= 1
            path = self._path_of(reference)
            its = await self._get(path) if room[0] >= 0 else None
            if its is None:
                raise self._odd()
            found[str(reference["name"])] = await self._whole(its, room, depth - 1)
        return Schema(kind, text, found)

    def _path_of(self, reference: Any) -> str:  # noqa: ANN401 - whatever it answers
        if not isinstance(reference, dict) or not {"name", "subject", "version"} <= set(reference):
            raise self._odd()
        subject = quote(str(reference["subject"]), safe="")
        return f"/subjects/{subject}/versions/{quote(str(reference['version']), safe='')}"

    def _number(self, answer: Any) -> int:  # noqa: ANN401 - whatever it answers
        number = answer.get("id") if isinstance(answer, dict) else None
        if not isinstance(number, int) or not 0 <= number < 2**32:
            raise self._odd()
        return number

    async def _get(self, path: str) -> Answer | None:
        answer = await self._ask("GET", f"{path}?format=serialized" if self._serialized else path)
        if answer is not None and not isinstance(answer, dict):
            raise self._odd()
        return answer

    async def _ask(self, method: str, path: str, body: Mapping[str, str] | None = None) -> Any:  # noqa: ANN401 - JSON is anything
        """What it answers, or None: it has no such thing."""
        seconds = self._registry.request_timeout / 1000
        try:
            connection, headers = await asyncio.to_thread(self._prepared, seconds)
            text = None if body is None else to_json(dict(body))
            if text is not None:
                headers["Content-Type"] = _KIND
            asking = partial(_exchange, connection, method, self._prefix + path, text, headers)
            async with asyncio.timeout(2 * seconds):  # to the last byte of an answer that drips
                try:
                    status, answer = await asyncio.to_thread(asking)
                finally:
                    _cut(connection)
        except ssl.SSLCertVerificationError as error:
            problem = f"its certificate is not trusted ({error.verify_message})"
            raise self._refused(problem, "check kafka.registry.ca_file") from error
        except ssl.SSLError as error:
            raise self._refused("TLS was refused", "check url, cert_file and key_file") from error
        except (OSError, HTTPException) as error:
            raise RegistryUnreachable(self._url, type(error).__name__) from error
        return self._judged(status, answer)

    @property
    def _prefix(self) -> str:
        return urlsplit(self._url).path.rstrip("/")

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

    def _judged(self, status: int, text: bytes) -> Any:  # noqa: ANN401 - JSON is anything
        self._refuse_status(status)
        answer = _said(text)
        if status == HTTPStatus.OK:
            if answer is None:
                raise self._odd()
            return answer
        if status == HTTPStatus.NOT_FOUND and _code(answer) in _NOT_THERE:
            return None
        raise self._refused(f"it answers {status}", "check url, and the rights of username")

    def _refuse_status(self, status: int) -> None:
        if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            raise self._refused("the login was refused", "check username and its password")
        if status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise RegistryUnreachable(self._url, f"it answers {status}")

    def _refused(self, problem: str, instead: str) -> RegistryRefused:
        return RegistryRefused(self._url, problem, instead)

    def _odd(self) -> RegistryRefused:
        return self._refused("what it answers is not as a registry's", "check url")


def _said(text: bytes) -> Any:  # noqa: ANN401 - JSON is anything
    """What it says, or None: it is no JSON, or too much of it."""
    try:
        return from_json(text) if len(text) <= MOST_BYTES else None
    except ValueError:
        return None


def _code(answer: Any) -> Any:  # noqa: ANN401 - whatever it answers
    return answer.get("error_code") if isinstance(answer, dict) else None


def _exchange(
    connection: HTTPConnection, method: str, path: str, body: bytes | None, headers: dict[str, str]
) -> tuple[int, bytes]:
    connection.request(method, path, body, headers)
    response = connection.getresponse()
    return response.status, response.read(MOST_BYTES + 1)


def _cut(connection: HTTPConnection) -> None:
    """End a connection, and the thread that may still wait for an answer."""
    with suppress(OSError, AttributeError):  # there may be none any more
        connection.sock.shutdown(socket.SHUT_RDWR)
    connection.close()
