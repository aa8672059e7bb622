"""A small schema registry, after the published REST interfaces of Confluent's and Apicurio's.

What it keeps lives in a `Store`, so that a server may die and another one go on with it. Judged by
others' clients: those of confluent-kafka register with it, and read from it; those of Apicurio
register with it. Its global ids are the content ids and `GLOBAL` more.
"""

from __future__ import annotations

import base64
import json
import ssl
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Answer = tuple[int, Any]
NO_SUBJECT, NO_VERSION, NO_SCHEMA = 40401, 40402, 40403
GLOBAL = 2**33
APICURIO = ("apis", "registry")


@dataclass
class Store:
    """Schemas by id, and subjects with the ids of their versions."""

    schemas: dict[int, dict[str, Any]] = field(default_factory=dict)
    subjects: dict[str, list[int]] = field(default_factory=dict)
    first: int = 1

    def register(self, subject: str, schema: dict[str, Any]) -> int:
        kept = {
            "schema": schema["schema"],
            "schemaType": schema.get("schemaType", "AVRO"),
            "references": schema.get("references") or [],
        }
        number = next((n for n, known in self.schemas.items() if known == kept), None)
        if number is None:
            number = self.first + len(self.schemas)
            self.schemas[number] = kept
        versions = self.subjects.setdefault(subject, [])
        if number not in versions:
            versions.append(number)
        return number

    def version(self, subject: str, version: str) -> Answer:
        if subject not in self.subjects:
            return _none(NO_SUBJECT)
        versions = self.subjects[subject]
        place = len(versions) if version == "latest" else int(version)
        if not 1 <= place <= len(versions):
            return _none(NO_VERSION)
        number = versions[place - 1]
        about = {"subject": subject, "version": place, "id": number}
        return 200, about | _told(self.schemas[number])

    def lookup(self, subject: str, schema: dict[str, Any]) -> Answer:
        for place, number in enumerate(self.subjects.get(subject, ()), 1):
            if self.schemas[number]["schema"] == schema["schema"]:
                return self.version(subject, str(place))
        return _none(NO_SCHEMA if subject in self.subjects else NO_SUBJECT)


def _told(schema: dict[str, Any]) -> dict[str, Any]:
    """Avro is not named, as in the real one."""
    return {k: v for k, v in schema.items() if v not in ("AVRO", [])}


def _none(code: int) -> Answer:
    return 404, {"error_code": code, "message": "not found"}


@dataclass
class Behaviour:
    """How it answers, when it is not well."""

    status: int | None = None
    body: bytes | None = None
    seconds: float = 0.0
    login: str | None = None
    asked: list[str] = field(default_factory=list)
    """What was asked of it, path by path."""
    drip: bool = False
    """Whether it answers byte by byte, and never to the end."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    store: Store
    behaviour: Behaviour

    def do_GET(self) -> None:
        self._handle(None)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path.startswith("/apis/registry/"):
            kind = self.headers.get("X-Registry-ArtifactType")
            name = self.headers.get("X-Registry-ArtifactId")
            self._handle({"schema": body.decode(), "schemaType": kind, "name": name})
        else:
            self._handle(json.loads(body))

    def _handle(self, body: dict[str, Any] | None) -> None:
        how = self.behaviour
        how.asked.append(self.path)
        if how.seconds:
            time.sleep(how.seconds)
        if how.drip:
            self._drip()
            return
        if how.login is not None:
            expected = f"Basic {base64.b64encode(how.login.encode()).decode()}"
            if self.headers.get("Authorization") != expected:
                self._answer(401, {"error_code": 40101, "message": "Unauthorized"})
                return
        if how.status is not None or how.body is not None:
            self._send(how.status or 200, how.body or b"{}")
            return
        path = [*map(unquote, urlsplit(self.path).path.split("/")[1:])]
        if (*path[:2],) == APICURIO:
            self._say(*self._in_apicurio(path[3:], body))
        else:
            self._answer(*self._found(path, body))

    def _found(self, path: list[str], body: dict[str, Any] | None) -> Answer:
        match path:
            case ["subjects"]:
                return 200, list(self.store.subjects)
            case ["subjects", subject] if body is not None:
                return self.store.lookup(subject, body)
            case ["subjects", subject, "versions"] if body is not None:
                return 200, {"id": self.store.register(subject, body)}
            case ["subjects", subject, "versions", version]:
                return self.store.version(subject, version)
            case ["schemas", "ids", number]:
                known = self.store.schemas.get(int(number))
                return _none(NO_SCHEMA) if known is None else (200, _told(known))
            case _:
                return 404, {"message": "no such path"}

    def _in_apicurio(self, path: list[str], body: dict[str, Any] | None) -> tuple[int, Any]:
        """The same of Apicurio's own interface; texts are schemas."""
        store = self.store
        match path:
            case ["search", "artifacts"]:
                return 200, {"count": len(store.subjects), "artifacts": []}
            case ["groups", _, "artifacts"] if body is not None:
                number = store.register(body["name"], body)
                versions = len(store.subjects[body["name"]])
                ids = {"globalId": number + GLOBAL, "contentId": number, "version": str(versions)}
                return 200, {"id": body["name"], "name": "x", "type": body["schemaType"], **ids}
            case ["ids", kind, number, *rest]:
                first = GLOBAL if kind == "globalIds" else 0
                return self._schema(store.schemas.get(int(number) - first), rest)
            case ["groups", "default", "artifacts", name, "versions", version, *rest]:
                numbers = store.subjects.get(name, [])
                known = int(version) <= len(numbers)
                schema = store.schemas[numbers[int(version) - 1]] if known else None
                return self._schema(schema, [] if rest == ["content"] else rest)
            case _:
                return 404, {"message": "no such path"}

    def _schema(self, schema: dict[str, Any] | None, rest: list[str]) -> tuple[int, Any]:
        """What it says, or what it refers to."""
        if schema is None:
            return 404, {"error_code": 404, "name": "ArtifactNotFoundException"}
        if rest != ["references"]:
            return 200, schema["schema"]
        return 200, [
            {"groupId": None, "artifactId": r["subject"], "version": str(r["version"]),
             "name": r["name"]}
            for r in schema["references"]
        ]  # fmt: skip

    def _say(self, status: int, document: Any) -> None:  # noqa: ANN401 - JSON, or a schema
        text = document if isinstance(document, str) else json.dumps(document)
        self._send(status, text.encode())

    def _answer(self, status: int, document: object) -> None:
        self._send(status, json.dumps(document).encode())

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _drip(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        for _ in range(200):
            try:
                self.wfile.write(b" ")
                self.wfile.flush()
            except OSError:
                return
            time.sleep(0.05)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, *_: object) -> None:
        """A client that hangs up is what tests are about."""


@dataclass
class Registry:
    """A registry that can die, and be there again under the same address."""

    store: Store = field(default_factory=Store)
    behaviour: Behaviour = field(default_factory=Behaviour)
    certificate: tuple[Path, Path] | None = None
    authority: Path | None = None
    """Of clients' certificates, if it asks for them."""
    port: int = 0
    under: str = ""
    """What comes before the paths of its interface, and says which one it is."""
    _server: _Server | None = None

    @property
    def url(self) -> str:
        return f"http{'s' if self.certificate else ''}://127.0.0.1:{self.port}{self.under}"

    def start(self) -> None:
        handler = type("Handler", (_Handler,), {"store": self.store, "behaviour": self.behaviour})
        server = _Server(("127.0.0.1", self.port), handler)
        if self.certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*self.certificate)
            if self.authority:
                context.verify_mode = ssl.CERT_REQUIRED
                context.load_verify_locations(self.authority)
            server.socket = context.wrap_socket(
                server.socket, server_side=True, do_handshake_on_connect=False
            )
        self.port = server.server_address[1]
        self._server = server
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()

    def kill(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


@contextmanager
def registry(**how: Any) -> Iterator[Registry]:  # noqa: ANN401 - the fields of a Registry
    made = Registry(**how)
    made.start()
    try:
        yield made
    finally:
        made.kill()
