"""One connection to the broker: what aiomqtt does, with acknowledgements of our own.

aiomqtt acknowledges a message when it comes, and does not look at what a broker answers to a
release. Both matter here, so this is the only module that reaches through it to paho.
"""

import asyncio
import logging
import math
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiomqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from meteragent.config.mqtt import Mqtt
from meteragent.errors import BrokerRefused, BrokerUnreachable, InvalidSetting

QOS = 1
AT_ONCE = 100
"""Messages that the broker may send before the first of them is acknowledged."""
TIMEOUT_SECONDS = 10.0
LONGEST_SESSION = 2**32 - 2
"""Seconds; one more would be for ever, which brokers like less."""
_BAD_LOGIN, _DENIED = 0x86, 0x87
_REFUSALS = {
    0x84: ("does not speak MQTT 5", "use another broker, or a newer one"),
    0x85: ("refuses the name of the gateway", "write another mqtt.client"),
    _BAD_LOGIN: ("refuses the login", "look at mqtt.username and its password"),
    _DENIED: ("refuses us", "look at mqtt.username, and at what the broker lets it do"),
    0x8A: ("has banned the gateway", "ask who runs it"),
    0x8C: ("refuses the way to log in", "look at mqtt.username and its password"),
}
"""Answers of a broker that stay what they are, and what to do."""
_FAILED = 0x80
"""Answers from here on are refusals."""

_log = logging.getLogger("mqtt")


class _Client(aiomqtt.Client):
    """A client that acknowledges when told to, and remembers what the broker answered."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - aiomqtt's own
        super().__init__(**options)
        self._client.manual_ack_set(True)  # noqa: FBT003 - paho's own
        self.session_present = False
        self.refusal = ""
        """What the broker said of a message that it did not take; it may hang up as well."""
        self._answers: dict[int, ReasonCode] = {}

    def acknowledge(self, message: aiomqtt.Message) -> None:
        """Let the broker forget it."""
        self._client.ack(message.mid, message.qos)

    async def release(self, topic: str, message: bytes, *, retain: bool) -> ReasonCode | None:
        """Publish it; what the broker answers, once it does."""
        info = self._client.publish(topic, message, QOS, retain=retain)
        if info.rc:
            raise aiomqtt.MqttCodeError(info.rc, "not published")
        confirmed = asyncio.Event()
        with self._pending_call(info.mid, confirmed, self._pending_publishes):
            await self._wait_for(confirmed.wait(), timeout=None)
        return self._answers.pop(info.mid, None)

    def _on_connect(self, client: Any, userdata: Any, flags: Any, *rest: Any) -> None:  # noqa: ANN401
        self.session_present = bool(flags.session_present)
        super()._on_connect(client, userdata, flags, *rest)

    def _on_publish(self, client: Any, userdata: Any, mid: int, *rest: Any) -> None:  # noqa: ANN401
        if mid in self._pending_publishes:
            self._answers[mid] = rest[0]
        if _code(rest[0]) >= _FAILED:
            self.refusal = str(rest[0])
        super()._on_publish(client, userdata, mid, *rest)


class Connection:
    """To the broker, for as long as it lasts."""

    def __init__(self, mqtt: Mqtt, client: _Client) -> None:
        self._mqtt, self._client = mqtt, client

    @property
    def session_present(self) -> bool:
        """Whether the broker knew us, and has kept what came meanwhile."""
        return self._client.session_present

    async def subscribe(self) -> None:
        """Ask for readings, and to hear ourselves. BrokerRefused: the broker does not let us."""
        ours = SubscribeOptions(qos=QOS, retainHandling=SubscribeOptions.RETAIN_DO_NOT_SEND)
        readings = SubscribeOptions(
            qos=QOS,
            noLocal=True,
            retainHandling=SubscribeOptions.RETAIN_SEND_IF_NEW_SUB,
        )
        for name, topic, options in (
            *(("topics", one.filter, readings) for one in self._mqtt.patterns),
            ("echo", self._mqtt.echo, ours),
        ):
            for answer in await self._client.subscribe(topic, options=options):
                if _code(answer) >= _FAILED:
                    problem = f"does not let us read {topic}"
                    raise self._refused(problem, f"allow it there, or change mqtt.{name}")

    async def received(self, most: int) -> list[aiomqtt.Message]:
        """What has come, at least one message; waits for it."""
        messages = self._client.messages
        found = [await anext(messages)]
        while len(found) < most and len(messages):
            found.append(await anext(messages))
        return found

    def acknowledge(self, message: aiomqtt.Message) -> None:
        """Let the broker forget a message."""
        self._client.acknowledge(message)

    async def publish(self, topic: str, message: bytes, *, retain: bool = True) -> None:
        """Publish it. Postcondition: the broker has it. BrokerRefused: it does not let us."""
        answer = await self._client.release(topic, message, retain=retain)
        if answer is not None and _code(answer) >= _FAILED:
            raise _refused_message(self._mqtt.host, str(answer))

    def _refused(self, problem: str, instead: str) -> BrokerRefused:
        return BrokerRefused(self._mqtt.host, problem, instead, "mqtt.host")


def _refused_message(host: str, answer: str) -> BrokerRefused:
    problem = f"does not let us publish ({answer})"
    instead = "allow it there, or change mqtt.output, mqtt.echo or mqtt.discovery"
    return BrokerRefused(host, problem, instead, "mqtt.host")


@asynccontextmanager
async def connected(mqtt: Mqtt) -> AsyncIterator[Connection]:
    """A connection with its subscriptions; reads the secrets' files.

    BrokerUnreachable: it cannot be made, or has ended. BrokerRefused: the broker refuses us.
    """
    client = _Client(**_options(mqtt))
    try:
        async with client:
            connection = Connection(mqtt, client)
            await connection.subscribe()
            yield connection
    except aiomqtt.MqttError as error:
        if client.refusal:
            raise _refused_message(mqtt.host, client.refusal) from None
        raise _told(mqtt.host, error) from None


def _told(host: str, error: aiomqtt.MqttError) -> BrokerRefused | BrokerUnreachable:
    """What happened, in our words where it will happen again."""
    cause = error.__cause__ if isinstance(error.__cause__, aiomqtt.MqttError) else error
    for one in (error, cause):
        refused = _REFUSALS.get(_code(getattr(one, "rc", None)))
        if refused:
            return BrokerRefused(host, *refused, "mqtt.host")
    return BrokerUnreachable(host, str(cause), "mqtt.host")


def _options(mqtt: Mqtt) -> dict[str, Any]:
    connect = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
    connect.SessionExpiryInterval = min(math.ceil(mqtt.keep_session / 1000), LONGEST_SESSION)
    connect.ReceiveMaximum = AT_ONCE
    return {
        "hostname": mqtt.host,
        "port": mqtt.port,
        "identifier": mqtt.client,
        "username": mqtt.username,
        "password": mqtt.read_password(),
        "protocol": aiomqtt.ProtocolVersion.V5,
        "clean_start": False,
        "properties": connect,
        "keepalive": max(1, math.ceil(mqtt.keepalive / 1000)),
        "timeout": TIMEOUT_SECONDS,
        "tls_context": _tls(mqtt) if mqtt.tls else None,
        "logger": _log,
    }


def _tls(mqtt: Mqtt) -> ssl.SSLContext:
    """InvalidSetting: certificates are none."""
    try:
        context = ssl.create_default_context(cafile=mqtt.ca_file)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if mqtt.cert_file is not None:
            context.load_cert_chain(mqtt.cert_file, mqtt.key_file, lambda: "")
    except ssl.SSLError as error:
        problem = f"holds no certificate, or cert_file and key_file do not fit ({error.reason})"
        raise InvalidSetting("mqtt.ca_file", problem, "write PEM files that do") from None
    return context


def _code(answer: ReasonCode | int | None) -> int:
    return int(answer.value if isinstance(answer, ReasonCode) else answer or 0)
