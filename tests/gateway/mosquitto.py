"""A real mosquitto on loopback, and somebody who reads all that is released."""

from __future__ import annotations

import shutil
import socket
import subprocess
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from tests.gateway.given import Sent

PATIENCE = 60.0
SETTINGS = """
{listener}
user root
persistence true
persistence_location {directory}/
max_queued_messages 0
log_dest stderr
log_type all
"""
ANONYMOUS = "listener {port} 127.0.0.1\nallow_anonymous true"


def program() -> str:
    found = shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin:/usr/bin")
    assert found, "tests/gateway/install brings it"
    return found


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Broker:
    """One that can be stopped and started again, and remembers."""

    def __init__(self, directory: Path, listener: str = ANONYMOUS) -> None:
        directory.mkdir(exist_ok=True)
        self.port = free_port()
        self._file = directory / "mosquitto.conf"
        written = listener.format(port=self.port, directory=directory)
        self._file.write_text(SETTINGS.format(listener=written, directory=directory))
        self._log = directory / "log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own command
                [program(), "-c", str(self._file)], stdout=log, stderr=log
            )
        until(self._answers)

    def stop(self) -> None:
        """As a service manager does it: it saves what it has."""
        assert self._process
        self._process.terminate()
        self._process.wait(PATIENCE)

    def restart(self) -> None:
        self.stop()
        self.start()

    def _answers(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False


@contextmanager
def running(directory: Path, listener: str = ANONYMOUS) -> Iterator[Broker]:
    broker = Broker(directory, listener)
    broker.start()
    try:
        yield broker
    finally:
        broker.stop()


def until(holds: Callable[[], bool], patience: float = PATIENCE) -> None:
    """Wait until it does."""
    end = time.monotonic() + patience
    while not holds():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.02)


class Reader:
    """Has a session of its own, so that it misses nothing; reads what is released."""

    def __init__(self, port: int, topic: str = "meteragent/+/+", name: str = "reader") -> None:
        self.messages: list[tuple[str, bytes]] = []
        self._subscribed = threading.Event()
        self._client = _client(name)
        self._client.on_connect = lambda client, *_: client.subscribe(topic, qos=1)
        self._client.on_subscribe = lambda *_: self._subscribed.set()
        self._client.on_message = self._take
        session = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        session.SessionExpiryInterval = 3600
        self._client.connect("127.0.0.1", port, clean_start=False, properties=session)
        self._client.loop_start()
        assert self._subscribed.wait(PATIENCE)

    def _take(self, _: object, __: object, message: mqtt.MQTTMessage) -> None:
        self.messages.append((message.topic, bytes(message.payload)))

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()


class Sender:
    """Hands messages to the broker, each until the broker has it."""

    def __init__(self, port: int) -> None:
        self._client = _client("sender")
        self._client.connect("127.0.0.1", port)
        self._client.loop_start()

    def send(self, messages: Iterable[Sent]) -> None:
        handed = [self._client.publish(one.topic, one.message, qos=1) for one in messages]
        for one in handed:
            one.wait_for_publish(PATIENCE)
            assert one.is_published()

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()


def _client(name: str) -> mqtt.Client:
    return mqtt.Client(CallbackAPIVersion.VERSION2, client_id=name, protocol=mqtt.MQTTv5)
