"""What is asked and answered over HTTP: read strictly, written with care.

h11 was tried for it: 22 lines for the 28 that read a request here, and a package more. It answers
lines that end or are folded in the old ways, small letters for GET, and HTTP/2.0, which are refused
here: what is doubtful to one reader of it is what attacks are made of.
"""

import gzip
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from http import HTTPStatus
from operator import itemgetter

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


@dataclass(frozen=True, slots=True)
class Response:
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


class BadRequest(Exception):
    """A request that is not answered as it wishes."""

    def __init__(self, status: HTTPStatus, **headers: str) -> None:
        super().__init__(status.phrase)
        self.status = status
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


def parsed(head: bytes) -> Request:
    """Read a request; what is doubtful is refused."""
    if not head:
        raise BadRequest(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
    first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    asked = _REQUEST.fullmatch(first)
    if not asked:
        raise BadRequest(HTTPStatus.BAD_REQUEST)
    method, target, version = asked.groups()
    fields = _fields(lines)
    headers, names = dict(fields), [*map(itemgetter(0), fields)]
    nameless = version == "1" and "host" not in headers
    if nameless or any(names.count(name) > 1 for name in _SINGLE):
        raise BadRequest(HTTPStatus.BAD_REQUEST)
    if "transfer-encoding" in headers or headers.get("content-length", "0") != "0":
        raise BadRequest(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    if method not in {"GET", "HEAD"}:
        raise BadRequest(HTTPStatus.METHOD_NOT_ALLOWED, Allow="GET, HEAD")
    return Request(method, target.partition("?")[0], headers)


def _fields(lines: list[str]) -> list[tuple[str, str]]:
    found = [_FIELD.fullmatch(line) for line in lines]
    if not all(found):
        raise BadRequest(HTTPStatus.BAD_REQUEST)
    return [(f[1].lower(), f[2].rstrip(" \t")) for f in found if f]


def encoded(answer: Response, *, body: bool) -> bytes:
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


def packed(answer: Response, request: Request) -> Response:
    """Compressed, if it pays and whoever asks can read it."""
    varies = {**answer.headers, "Vary": "Accept, Accept-Encoding"}
    accepted = [part.strip() for part in request.headers.get("accept-encoding", "").split(",")]
    if len(answer.body) < _SMALL or "gzip" not in accepted:
        return replace(answer, headers=varies)
    body = gzip.compress(answer.body, compresslevel=5)
    return replace(answer, body=body, headers={**varies, "Content-Encoding": "gzip"})


def plain(status: HTTPStatus, headers: Mapping[str, str]) -> Response:
    """The bare words of a status."""
    return Response(f"{status.phrase}\n".encode(), "text/plain; charset=utf-8", status, headers)
