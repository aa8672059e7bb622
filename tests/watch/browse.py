"""HTTP as it goes over the wire: bytes in, bytes out."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import ssl

PATIENCE = 20


@dataclass(frozen=True)
class Reply:
    """A whole answer."""

    status: int
    headers: dict[str, str]
    body: bytes


async def connect(
    address: str, tls: ssl.SSLContext | None = None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    where = urlsplit(address)
    return await asyncio.open_connection(where.hostname, where.port, ssl=tls)


async def exchange(address: str, request: bytes, tls: ssl.SSLContext | None = None) -> bytes:
    """Everything that comes back until the other side closes."""
    reader, writer = await connect(address, tls)
    try:
        async with asyncio.timeout(PATIENCE):
            writer.write(request)
            await writer.drain()
            return await reader.read()
    finally:
        writer.close()


def parse(answer: bytes) -> Reply:
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    return Reply(int(first.split()[1]), headers, body)


async def get(
    address: str, path: str = "/", tls: ssl.SSLContext | None = None, **headers: str
) -> Reply:
    asked = {"Host": "localhost"} | {name.replace("_", "-"): v for name, v in headers.items()}
    lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in asked.items())]
    request = "\r\n".join([*lines, "", ""]).encode()
    return parse(await exchange(address, request, tls))
