"""Whether the broker and the disk let a gateway work: asked before it matters."""

import asyncio
import json
import os
import secrets

from meteragent.config.mqtt import Mqtt
from meteragent.errors import BrokerRefused, InvalidSetting
from meteragent.gateway.connection import AT_ONCE, connected

PATIENCE_SECONDS = 10.0


async def try_broker(mqtt: Mqtt) -> None:
    """Log in under another name, read what is to be read, and hear ourselves.

    A gateway that is at work is not disturbed. BrokerRefused, BrokerUnreachable: it will not do.
    """
    name = f"{mqtt.client}-check"
    call = json.dumps([name, secrets.token_hex(8)]).encode()
    async with connected(mqtt.model_copy(update={"client": name, "keep_session": 0})) as broker:
        await broker.publish(mqtt.echo, call, retain=False)
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                heard = False
                while not heard:
                    messages = await broker.received(AT_ONCE)
                    heard = any(one.payload == call for one in messages)
                    for one in messages:
                        broker.acknowledge(one)
        except TimeoutError:
            problem = f"takes what we send to {mqtt.echo}, and does not let us hear it"
            instead = "allow reading and writing it there, or change mqtt.echo"
            raise BrokerRefused(mqtt.host, problem, instead, "mqtt.host") from None


def try_places(mqtt: Mqtt) -> None:
    """See that ledger and journal may be written. InvalidSetting: they may not."""
    for name, path in (("ledger", mqtt.ledger), ("journal", mqtt.journal)):
        place = path if path.exists() else path.resolve().parent
        if not os.access(place, os.W_OK):
            problem, instead = f"{path} cannot be written", "write a path that can"
            raise InvalidSetting(f"mqtt.{name}", problem, instead)
