"""A network namespace in which one port of this machine is all there is.

Two processes join connections to that port, inside, with the port itself, outside. Between them
is a door: a socket in the file system, which no network namespace closes.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

HOST = "127.0.0.1"


@contextmanager
def network(reaching: str) -> Iterator[str]:
    """Where a namespace stands from which `host:port` is reached, and nothing else."""
    port = reaching.rpartition(":")[2]
    with tempfile.TemporaryDirectory() as directory:
        program = (sys.executable, __file__, f"{directory}/door", port)
        with _serving(*program, "out"), _serving("/usr/bin/unshare", "--net", *program, "in") as us:
            yield f"/proc/{us.pid}/ns/net"


@contextmanager
def _serving(*program: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - ours
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "open\n"
            yield process
        finally:
            process.kill()


async def _serve(door: str, port: int, side: str) -> None:
    async def join(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            there = (
                await asyncio.open_unix_connection(door)
                if side == "in"
                else await asyncio.open_connection(HOST, port)
            )
            await asyncio.gather(_pump(reader, there[1]), _pump(there[0], writer))
        writer.close()

    if side == "in":
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)  # noqa: ASYNC221, S607
        server = await asyncio.start_server(join, HOST, port)
    else:
        server = await asyncio.start_unix_server(join, door)
    os.write(1, b"open\n")
    await server.serve_forever()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while portion := await reader.read(65_536):
            writer.write(portion)
            await writer.drain()
    writer.close()


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
