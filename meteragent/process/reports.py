"""What a process is given by the one that started it, and what it tells it: each second, how it is.

Both speak over a socket that the process inherits: frames, each behind its length. The first one
goes to the process and is the text of its configuration, as it was when all of them began: whoever
is started anew must not find another one. All others come from it. When the socket closes, whoever
started the process is gone, and so it ends.
"""

import asyncio
import json
import socket
import struct
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple

VARIABLE = "METERAGENT_PROCESS"
"""Tells a process its number, its socket, and where its counts are kept."""
EVERY_SECONDS = 1.0
LONGEST = 64 * 1024 * 1024
"""Bytes of a frame."""
_LENGTH = struct.Struct(">I")

Report = dict[str, Any]


class Given(NamedTuple):
    """What a process begins with."""

    number: int
    text: str
    """Of the configuration."""
    counts: int
    """The descriptor of the memory where they are kept."""
    line: socket.socket


def given(environ: Mapping[str, str]) -> Given | None:
    """What this process was given, if it is one of several."""
    if VARIABLE not in environ:
        return None
    number, line, counts = map(int, environ[VARIABLE].split(":"))
    ours = socket.socket(fileno=line)
    length = _LENGTH.unpack(_read(ours, _LENGTH.size))[0]
    return Given(number, _read(ours, length).decode(), counts, ours)


def _read(line: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        if not (more := line.recv(count - len(found))):
            raise SystemExit(0)  # whoever started us has gone: there is nothing to commit yet
        found += more
    return found


def framed(body: bytes) -> bytes:
    """A frame."""
    return _LENGTH.pack(len(body)) + body


async def reports(reader: asyncio.StreamReader) -> AsyncIterator[Report]:
    """What a process tells, until it has ended."""
    with suppress(asyncio.IncompleteReadError, OSError):
        while True:
            length = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))[0]
            if length > LONGEST:
                return
            yield json.loads(await reader.readexactly(length))


@asynccontextmanager
async def telling(
    line: socket.socket, report: Callable[[], Report], stop: Callable[[], None]
) -> AsyncIterator[None]:
    """Tell how it is meanwhile, and once more at the end; `stop` when nobody listens any more."""
    reader, writer = await asyncio.open_connection(sock=line)
    tasks = [
        asyncio.create_task(_tell(writer, report)),
        asyncio.create_task(_stop_when_alone(reader, stop)),
    ]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(EVERY_SECONDS):
                writer.write(_frame(report))
                await writer.drain()
                writer.close()
                await writer.wait_closed()


async def _tell(writer: asyncio.StreamWriter, report: Callable[[], Report]) -> None:
    """One who does not listen for a while gets what is newest when he does."""
    while True:
        if not writer.transport.get_write_buffer_size():
            writer.write(_frame(report))
        await asyncio.sleep(EVERY_SECONDS)


async def _stop_when_alone(reader: asyncio.StreamReader, stop: Callable[[], None]) -> None:
    with suppress(OSError):
        await reader.read()
    stop()


def _frame(report: Callable[[], Report]) -> bytes:
    return framed(json.dumps(report(), separators=(",", ":")).encode())
