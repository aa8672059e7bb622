"""One metadata request by hand: the cheapest proof that a broker serves its clients.

Starting one of Kafka's own tools to ask the same costs a second of JVM start-up.
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass

_METADATA_V1 = struct.pack(">hhih", 3, 1, 0, -1) + struct.pack(">i", 0)  # names no topic
_TIMEOUT = 2.0


@dataclass(frozen=True, slots=True)
class View:
    """The cluster as one broker sees it."""

    brokers: frozenset[int]
    controller: int


def ask(port: int) -> View | None:
    """Return the view of the broker on that port, or None while it does not answer."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=_TIMEOUT) as connection:
            connection.sendall(struct.pack(">i", len(_METADATA_V1)) + _METADATA_V1)
            (size,) = struct.unpack(">i", _exactly(connection, 4))
            return _parse(_exactly(connection, size))
    except OSError:
        return None


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        chunk = connection.recv(size - len(data))
        if not chunk:
            raise ConnectionError
        data += chunk
    return bytes(data)


def _parse(response: bytes) -> View:
    _correlation, count = struct.unpack_from(">ii", response)
    at = 8
    brokers = set()
    for _ in range(count):
        node, host_size = struct.unpack_from(">ih", response, at)
        at += 6 + host_size + 4  # the port follows the host
        (rack_size,) = struct.unpack_from(">h", response, at)
        at += 2 + max(rack_size, 0)
        brokers.add(node)
    (controller,) = struct.unpack_from(">i", response, at)
    return View(frozenset(brokers), controller)
