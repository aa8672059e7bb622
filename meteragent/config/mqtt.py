"""The `[mqtt]` table: the broker of a gateway, and where it keeps what it must not lose."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

from pydantic import model_validator

from meteragent.config.fields import (
    FilePath,
    Flag,
    FromEnvironment,
    Host,
    Megabytes,
    OwnerOnlyFile,
    Port,
    Settings,
    SomeTime,
    Text,
    Texts,
    refuse,
    setting,
)
from meteragent.config.secrets import once, pair, text_of
from meteragent.errors import InvalidSetting
from meteragent.formats.topics import METER, Pattern, Template

Document = dict[str, Any]


class Mqtt(Settings):
    """Readings in and releases out by MQTT, for `meteragent gateway`: a broker takes Kafka's place.

    The broker speaks MQTT 5. What senders publish at QoS 1 it keeps while the gateway is away.
    """

    host: Host = setting("The broker.", '"mqtt.example.net"', default="localhost")
    port: Port = setting("Its port; 8883 is usual with TLS.", "8883", default=1883)
    client: Text = setting(
        "The gateway's name at the broker, which keeps readings and position under it: different "
        "for each gateway, and always the same.",
        default="meteragent",
    )
    topics: Texts = setting(
        "Where readings come in. Levels may be `+` or, at the end, `#`; one that is `{meter}` "
        "names the meter, whatever messages say. [input] says how messages are written.",
        '["tele/{meter}/SENSOR"]',
        default=[],
    )
    output: Text = setting(
        "Where releases go: retained, so that the last one of each topic is there for everybody.",
        default="meteragent/{policy}/{meter}",
    )
    discovery: Text | None = setting(
        "Where Home Assistant looks for new devices: each answer of a meter becomes a sensor.",
        '"homeassistant"',
        default=None,
    )
    echo: Text = setting(
        "A topic on which the gateway hears itself, so that it knows that the broker works and "
        "that all earlier readings have come before the clock closes windows. Different for each "
        "gateway.",
        default="meteragent/echo",
    )
    keep_session: SomeTime = setting(
        "How long the broker is asked to keep readings while the gateway is away.",
        default="7d",
    )
    keepalive: SomeTime = setting(
        "Silence after which the connection is taken for dead.", default="30s"
    )
    tls: Flag = setting("Whether the connection is encrypted.", "true", default=False)
    ca_file: FilePath | None = setting(
        "The authority that signed the broker's certificate; without it, those that the system "
        "trusts.",
        '"ca.pem"',
        default=None,
    )
    cert_file: FilePath | None = setting(
        "The gateway's own certificate, for brokers that ask for one.",
        '"gateway.pem"',
        default=None,
    )
    key_file: FilePath | None = setting(
        "The private key of `cert_file`.", '"gateway-key.pem"', default=None
    )
    username: Text | None = setting("Who logs in.", '"meteragent"', default=None)
    password_file: OwnerOnlyFile | None = setting(
        "Holds the password of `username`.", '"credential:mqtt-password"', default=None
    )
    password: FromEnvironment | None = setting("The same, without a file.", '"…"', default=None)
    ledger: FilePath = setting(
        "Accounts, position, and releases that the broker does not have yet: one SQLite file. "
        "Whoever loses it loses count of what was spent.",
        default="gateway.db",
    )
    journal: FilePath = setting(
        "The directory of readings that open windows need: written to the disk before the broker "
        "forgets them, and removed with their windows.",
        default="journal",
    )
    journal_limit: Megabytes = setting(
        "The most megabytes of the journal. If it needs more, the gateway ends and leaves "
        "further readings to the broker.",
        default=64,
    )

    @cached_property
    def patterns(self) -> tuple[Pattern, ...]:
        """Which topics are read."""
        return (*map(Pattern.parse, self.topics),)

    @cached_property
    def template(self) -> Template:
        """Where releases go."""
        return Template.parse(self.output)

    @property
    def names(self) -> frozenset[str]:
        """The names in here, which libraries may mention in logs."""
        return frozenset((self.host, self.client))

    def read_password(self) -> str | None:
        """The password of `username`."""
        return text_of("mqtt.password", self.password, self.password_file)

    @model_validator(mode="after")
    def _is_coherent(self) -> "Mqtt":
        refuse([*self._secrets(), *self._texts()])
        refuse([*self._circles()])
        return self

    def _secrets(self) -> list[InvalidSetting]:
        found = once(self, "password") + pair(self, "username", "password")
        found += pair(self, "cert", "key")
        if self.tls:
            return found
        problem, instead = "has no effect without tls", "write tls = true"
        given = [name for name in ("ca_file", "cert_file") if getattr(self, name) is not None]
        return [*found, *(InvalidSetting(name, problem, instead) for name in given)]

    def _texts(self) -> list[InvalidSetting]:
        """What is no topic."""
        found = [_refusal("topics", Pattern.parse, one) for one in self.topics]
        found.append(_refusal("output", Template.parse, self.output))
        if METER not in self.output:
            instead = "write {meter} into it, or what is retained would be one meter's alone"
            found.append(InvalidSetting("output", "is one topic for all meters", instead))
        for name in ("echo", "discovery"):
            text = getattr(self, name)
            if text is not None and Template.parse(text).pattern.filter != text:
                found.append(InvalidSetting(name, "is not a single topic", "leave out the braces"))
        return [one for one in found if one]

    def _circles(self) -> list[InvalidSetting]:
        """Topics that would be read and are written."""
        written = {"output": self.template.pattern, "echo": Pattern.parse(self.echo)}
        if self.discovery is not None:
            written["discovery"] = Pattern.parse(f"{self.discovery}/#")
        problem, instead = "lies among mqtt.topics, which are read", "write another one"
        return [
            InvalidSetting(name, problem, instead)
            for name, pattern in written.items()
            if any(one.overlaps(pattern) for one in self.patterns)
        ]


def _refusal(name: str, parse: Callable[[str], object], text: str) -> InvalidSetting | None:
    try:
        parse(text)
    except InvalidSetting as refused:
        return InvalidSetting(name, refused.problem, refused.instead)
    return None


def named_by_topics(document: Document) -> Document:
    """A configuration whose input need not say whose readings are, where all topics do."""
    mqtt, written = document.get("mqtt"), document.get("input", {})
    topics = mqtt.get("topics") if isinstance(mqtt, dict) else None
    if not isinstance(topics, list) or not topics or not isinstance(written, dict):
        return document
    said = {"meter", "only_meter"} & written.keys()
    if said or not all(METER in str(topic).split("/") for topic in topics):
        return document
    return document | {"input": written | {"only_meter": METER}}
