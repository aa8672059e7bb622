"""What comes and goes over one connection.

    intake     messages -> the works, and acknowledged
    sending    releases -> the broker, in their order
    echoes     now and then a message to ourselves

When an echo comes back, all that the broker had before it has come too, and the clock may close
windows: up to when the echo was sent. A gateway that was away for a day thus takes in all that was
kept for it before it looks at the clock.
"""

import asyncio
import json
import secrets
from collections.abc import Callable

import aiomqtt

from meteragent.config.mqtt import Mqtt
from meteragent.gateway.connection import Connection
from meteragent.gateway.works import Works

ECHO_SECONDS = 2.0
SENT_AT_ONCE = 16
"""Releases that wait for the broker's answer together."""

Now = Callable[[], int]
"""Milliseconds since the epoch."""


class Traffic:
    """Over one connection, until it ends."""

    def __init__(
        self, connection: Connection, works: Works, mqtt: Mqtt, most: int, now: Now
    ) -> None:
        """`most`: messages that are taken in at once."""
        self._connection, self._works, self._mqtt = connection, works, mqtt
        self._most, self._now = most, now
        self._name = secrets.token_hex(8)
        """Of this connection: echoes of others are not ours."""
        self._heard = asyncio.Event()
        self._waiting = asyncio.Event()
        self._waiting.set()
        self.echoes = 0
        """How many came back."""

    def wake(self) -> None:
        """There may be something to send."""
        self._waiting.set()

    async def intake(self) -> None:
        """Take in what comes, for as long as it does."""
        while True:
            self._take(await self._connection.received(self._most))

    def _take(self, messages: list[aiomqtt.Message]) -> None:
        """Write down what came, acknowledge it, and feed it; then let time pass."""
        now, sent = self._now(), None
        readings = []
        for message in messages:
            if message.topic.value == self._mqtt.echo:
                sent = self._sent(message) or sent
            else:
                readings.append(message)
        if readings:
            records = [
                self._works.record(one.topic.value, bytes(one.payload), now) for one in readings
            ]
            first = self._works.write(records)
        for message in messages:
            self._connection.acknowledge(message)
        if readings:
            self._works.feed(first, records)
        if sent is not None:
            self.echoes += 1
            self._works.pass_time(sent)
            self._heard.set()

    def _sent(self, message: aiomqtt.Message) -> int | None:
        """When an echo of ours was sent; None if it is not of ours."""
        try:
            name, sent = json.loads(message.payload)
        except (TypeError, ValueError):
            return None
        return sent if name == self._name and isinstance(sent, int) else None

    async def echo(self) -> None:
        """Call, and wait until the call has come back; again and again."""
        while True:
            self._heard.clear()
            call = json.dumps([self._name, self._now()]).encode()
            await self._connection.publish(self._mqtt.echo, call, retain=False)
            await self._heard.wait()
            await asyncio.sleep(ECHO_SECONDS)

    async def sending(self) -> None:
        """Send what is in the outbox, as it comes in."""
        while True:
            await self._waiting.wait()
            self._waiting.clear()
            await self.send_all()

    async def send_all(self) -> None:
        """Send all there is. What the broker has, with all before it, is forgotten here."""
        while batch := self._works.outbox.first(SENT_AT_ONCE):
            answers = await asyncio.gather(
                *(self._connection.publish(one.topic, one.message) for one in batch),
                return_exceptions=True,
            )
            failed = [at for at, answer in enumerate(answers) if answer is not None]
            self._works.outbox.sent(batch[: min(failed, default=len(batch))])
            for at in failed:
                raise answers[at]  # type: ignore[misc]  # it is not None
