"""What tests of the gateway start from: a configuration, messages, and what must come of them."""

from __future__ import annotations

import json
import random
import tomllib
from typing import TYPE_CHECKING, NamedTuple

from meteragent.config import Config, from_document
from meteragent.formats.encoder import Encoder
from meteragent.formats.messages import message_decoder
from meteragent.formats.topics import Template
from meteragent.stream.pipeline import Pipeline
from meteragent.stream.releases import Document, stages
from tests.given import KEY, MINUTE, SECOND

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from meteragent.stream.releases import Step

BEGIN = 1_763_424_000_000  # a whole day
LAST = BEGIN + 30 * MINUTE
OVER = LAST + 20 * MINUTE
"""By when every window has closed."""

CONFIGURATION = """
[agent]
key_file = "noise.key"
max_skew = "1h"
max_batch = 7
commit_interval = "20ms"
[mqtt]
topics = ["tele/{meter}/SENSOR", "zigbee/+"]
[input]
meter = "device"
time = "ts"
value = "power"
[http]
port = 0
[[policy]]
name = "homes"
match = "home-"
window = "5m"
interval = "30s"
grace = "1m"
idle = "1m"
maximum = "24kW"
queries = ["avg", "p95"]
epsilon = "1"
budget = "24"
[[policy]]
name = "plugs"
match = "plug-"
window = "4m"
hop = "2m"
interval = "30s"
grace = "1m"
idle = "1m"
maximum = "3kW"
epsilon = "1"
budget = "6"
horizon = "1h"
presence = "private"
"""
METERS = ("home-1", "home-2", "plug-a")


class Sent(NamedTuple):
    """A message, and when its sender hands it to the broker."""

    at: int
    topic: str
    message: bytes


def config(directory: Path, text: str = CONFIGURATION) -> Config:
    return from_document(tomllib.loads(text), directory, {})


def messages(seed: int, meters: Sequence[str] = METERS, last: int = LAST) -> list[Sent]:
    """Readings as they come: some a little late, some never, some that are none."""
    rng = random.Random(seed)
    found = []
    for time in range(BEGIN, last, 30 * SECOND):
        for meter in meters:
            if rng.random() < 0.1:
                continue
            document = {"ts": time + rng.randrange(30 * SECOND), "power": rng.randrange(3000)}
            if meter == "home-2":
                topic, document["device"] = "zigbee/b", "home-2"  # type: ignore[assignment]
            else:
                topic = f"tele/{meter}/SENSOR"
            message = json.dumps(document).encode()
            if rng.random() < 0.05:
                message = rng.choice([b"", b"{}", b"\xff", message[:-1]])
            found.append(Sent(document["ts"] + rng.randrange(20 * SECOND), topic, message))
    return sorted(found)


class Result(NamedTuple):
    """What came of it all."""

    releases: dict[str, list[bytes]]
    """Topic -> what was published there, in its order."""
    accounts: dict[str, bytes]


def oracle(settings: Config, given: Sequence[Sent], over: int | None = OVER) -> Result:
    """What must come of it: the pipeline over every message, once, without all the rest."""
    pipeline = Pipeline(settings.assigned, KEY, max_skew=settings.agent.max_skew, max_meters=1000)
    plain = message_decoder(settings.mapping)
    releases: dict[str, list[bytes]] = {}
    accounts: dict[str, bytes] = {}
    encoder, template = Encoder(), Template.parse(settings.mqtt.output)

    def collect(steps: Iterable[Step]) -> None:
        for stage in stages(steps):
            documents: list[Document] = []
            for step in stage:
                documents += step.written(encoder.encode)
                accounts.update(step.accounts)
            for one in sorted(documents):
                releases.setdefault(template.topic(one.meter, one.policy), []).append(one.text)

    for offset, one in enumerate(given):
        message = _with_meter(one)
        collect(pipeline.feed(plain.decode([message], [offset], [one.at])))
    if over is not None:
        collect(pipeline.tick(over))
    return Result(releases, accounts)


def _with_meter(one: Sent) -> bytes:
    """As if the sender had said what its topic says."""
    try:
        document = json.loads(one.message)
    except ValueError:
        return one.message
    if one.topic.startswith("tele/"):
        document["device"] = one.topic.split("/")[1]
    return json.dumps(document).encode()


def without_repeats(published: Sequence[tuple[str, bytes]]) -> dict[str, list[bytes]]:
    """What a reader of each topic has who looks at windows: each once, in the order of the first.

    Fails if a window was released in two ways.
    """
    found: dict[str, dict[int, bytes]] = {}
    for topic, message in published:
        start = json.loads(message)["window_start"]
        before = found.setdefault(topic, {}).setdefault(start, message)
        assert before == message, "released twice, and otherwise"
    return {topic: [*windows.values()] for topic, windows in found.items()}
