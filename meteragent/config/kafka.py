"""The `[kafka]` tables: where the streams are, and how to prove who we are."""

from collections.abc import Iterable
from itertools import chain
from typing import Literal

from pydantic import PrivateAttr, model_validator

from meteragent.config.fields import (
    FilePath,
    FromEnvironment,
    OwnerOnlyFile,
    Servers,
    Settings,
    SomeTime,
    Text,
    TopicName,
    Whole,
    refuse,
    setting,
)
from meteragent.config.registry import Registry
from meteragent.config.secrets import needed, once, pair, text_of, useless
from meteragent.errors import InvalidSetting

_LOGIN = {
    None: (),
    "PLAIN": ("username", "password"),
    "SCRAM-SHA-256": ("username", "password"),
    "SCRAM-SHA-512": ("username", "password"),
    "OAUTHBEARER": ("token",),
}
"""What each mechanism logs in with."""


class Security(Settings):
    """How connections are encrypted, and who connects. Certificates and keys are PEM files."""

    protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = setting(
        "What the brokers' listener speaks: SSL encrypts, SASL logs in.",
        '"SASL_SSL"',
        default="PLAINTEXT",
    )
    ca_file: FilePath | None = setting(
        "The authority that signed the brokers' certificates; without it, those that the system "
        "trusts.",
        '"ca.pem"',
        default=None,
    )
    cert_file: FilePath | None = setting(
        "The agent's own certificate, for brokers that ask for one.", '"agent.pem"', default=None
    )
    key_file: FilePath | None = setting(
        "The private key of `cert_file`.", '"agent-key.pem"', default=None
    )
    key_password_file: OwnerOnlyFile | None = setting(
        "Holds the password of `key_file`, if it has one.",
        '"credential:kafka-key-password"',
        default=None,
    )
    key_password: FromEnvironment | None = setting("The same, without a file.", '"…"', default=None)
    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"] | None = setting(
        "How to log in.", '"SCRAM-SHA-512"', default=None
    )
    username: Text | None = setting("Who logs in.", '"meteragent"', default=None)
    password_file: OwnerOnlyFile | None = setting(
        "Holds the password of `username`.", '"credential:kafka-password"', default=None
    )
    password: FromEnvironment | None = setting("The same, without a file.", '"…"', default=None)
    token_file: OwnerOnlyFile | None = setting(
        "Holds the OAUTHBEARER token; read again whenever one is asked for.",
        '"/run/kafka/token"',
        default=None,
    )

    @property
    def encrypts(self) -> bool:
        """Whether connections are TLS."""
        return self.protocol in {"SSL", "SASL_SSL"}

    @property
    def logs_in(self) -> bool:
        """Whether connections begin with SASL."""
        return self.protocol in {"SASL_PLAINTEXT", "SASL_SSL"}

    def read_password(self) -> str | None:
        """The password of `username`."""
        return text_of("kafka.security.password", self.password, self.password_file)

    def read_key_password(self) -> str | None:
        """The password of `key_file`."""
        return text_of("kafka.security.key_password", self.key_password, self.key_password_file)

    def read_token(self) -> str | None:
        """The token, as its file holds it now."""
        return text_of("kafka.security.token", None, self.token_file)

    @model_validator(mode="after")
    def _is_coherent(self) -> "Security":
        refuse([*self._encryption(), *self._login()])
        return self

    def _encryption(self) -> list[InvalidSetting]:
        if not self.encrypts:
            why = f"because {self.protocol} does not encrypt"
            return [r for n in ("ca", "cert", "key", "key_password") for r in useless(self, n, why)]
        locked = needed(self, "key", "which a password needs") if self.key_password_file else []
        return [*pair(self, "cert", "key"), *once(self, "key_password"), *locked]

    def _login(self) -> list[InvalidSetting]:
        if self.logs_in and not self.mechanism:
            return needed(self, "mechanism", f"which {self.protocol} needs")
        if self.mechanism and not self.logs_in:
            return useless(self, "mechanism", f"because {self.protocol} does not log in")
        wanted = _LOGIN[self.mechanism]
        why = f"with mechanism {self.mechanism}" if self.mechanism else "without a mechanism"
        others = [name for name in ("username", "password", "token") if name not in wanted]
        return [
            *once(self, "password"),
            *chain(*(needed(self, n, f"which {self.mechanism} needs") for n in wanted)),
            *chain(*(useless(self, n, why) for n in others)),
        ]


class Kafka(Settings):
    """Where readings come from and where releases go."""

    bootstrap_servers: Servers = setting(
        "Brokers to ask first: a list, or a string with commas.",
        '["kafka-1:9092", "kafka-2:9092"]',
        default=["localhost:9092"],
    )
    group: Text = setting(
        "The consumer group; with topic and partition it names the transactions.",
        default="meteragent",
    )
    input: TopicName = setting("Readings, keyed by meter.", default="meter.readings")
    output: TopicName = setting("Releases, keyed by meter.", default="meter.sanitized")
    partitioner: Literal["murmur2", "crc32", "fnv1a"] = setting(
        "How senders choose the partition of a meter's id: `murmur2` is the default of Java's "
        "client and those modelled on it, `crc32` of librdkafka (C, C++, Go, .NET, Node, "
        "Python), `fnv1a` of Sarama. A meter has one account, in that partition; its readings in "
        "any other are rejected as `wrong_partition`.",
        '"crc32"',
        default="murmur2",
    )
    trust_timestamps: bool = setting(
        "Accept an input whose records carry their senders' time (`CreateTime`). "
        "`agent.max_skew` then compares a reading with its sender's clock, and one clock that "
        "runs ahead closes everybody's windows.",
        "true",
        default=False,
    )
    ledger: TopicName = setting(
        "What each meter has spent; compacted, with the partitions of `input`.",
        default="meter.ledger",
    )
    rejected: TopicName = setting(
        "Where records stand that could not be read, and why.", default="meter.rejected"
    )
    policies: TopicName = setting(
        "The policies behind the releases, once each, by the ids that releases name; compacted.",
        default="meter.policies",
    )
    groups: TopicName = setting(
        "Which homes are in which groups, where there is a [[group]]: a record of each home, keyed "
        "by its meter, with all its groups; compacted.",
        default="meter.groups",
    )
    groups_lead: SomeTime = setting(
        "How long before a window begins it must be known who is in its group: a record in "
        "`groups` that changes anything sooner is refused.",
        default="1h",
    )
    groups_output: TopicName = setting(
        "Releases of groups, keyed by group.", default="meter.groups.sanitized"
    )
    partials: TopicName = setting(
        "What the partitions of `input` report about their homes, so that groups can be summed: "
        "exact sums, as sensitive as the readings; for nobody but the agent.",
        default="meter.partials",
    )
    homes_ledger: TopicName = setting(
        "How far each partition of `input` has reported for groups; compacted, with the "
        "partitions of `input`.",
        default="meter.ledger.homes",
    )
    groups_ledger: TopicName = setting(
        "What each group has spent; compacted, with the partitions of `partials`.",
        default="meter.ledger.groups",
    )
    revision: Whole = setting(
        "Instances leave when a newer configuration takes over, and do not come back by "
        "themselves. To go back to earlier settings on purpose, write another number here.",
        "1",
        default=0,
    )
    session_timeout: SomeTime = setting(
        "Silence after which the group takes an instance for dead. After a kill, its partitions "
        "stand still for that long.",
        default="10s",
    )
    rebalance_timeout: SomeTime = setting(
        "How long the group waits for instances to let their partitions go: longer than "
        "`agent.drain_deadline`.",
        default="60s",
    )
    transaction_timeout: SomeTime = setting(
        "Age at which brokers abort a transaction; above `agent.commit_interval`.", default="60s"
    )
    request_timeout: SomeTime = setting(
        "How long to wait for one answer of a broker.", default="40s"
    )
    output_format: Literal["json", "avro"] = setting(
        "How releases are written: as JSON, or as Avro after the id of their schema, which is "
        "registered in `[kafka.registry]` under the subject TOPIC-value.",
        '"avro"',
        default="json",
    )
    security: Security = setting("", "[kafka.security]", default={})
    registry: Registry = setting("", "[kafka.registry]", default={})
    _outputs: tuple[str, ...] | None = PrivateAttr(default=None)
    _settings: dict[str, str] = PrivateAttr(default={})
    _beside: tuple[str, ...] = PrivateAttr(default=())

    @property
    def outputs(self) -> tuple[str, ...]:
        """All topics that releases go to."""
        return (self.output,) if self._outputs is None else self._outputs

    def with_outputs(self, outputs: Iterable[str]) -> "Kafka":
        """The same with all topics that policies name for their releases."""
        named = self.model_copy()
        named._outputs = tuple(dict.fromkeys(outputs))  # noqa: SLF001 - the same class
        return named

    def of_homes(self) -> "Kafka":
        """What those work with who tell of the homes of groups: nothing is released by them."""
        own = {"group": f"{self.group}.homes", "ledger": self.homes_ledger}
        other = self.model_copy(update=own).with_outputs(()).called_by(ledger="homes_ledger")
        other._beside = ("groups", "partials")  # noqa: SLF001 - the same class
        return other

    def of_groups(self) -> "Kafka":
        """What those work with who decide groups: their input is what the others tell."""
        own = {
            "group": f"{self.group}.groups",
            "input": self.partials,
            "ledger": self.groups_ledger,
            "output": self.groups_output,
            "partitioner": "murmur2",
        }
        called = {"input": "partials", "ledger": "groups_ledger", "output": "groups_output"}
        other = self.model_copy(update=own).called_by(**called)
        other._beside = ("groups",)  # noqa: SLF001 - the same class
        return other

    @property
    def beside(self) -> dict[str, str]:
        """Setting -> topic: what is read or written besides what all work with."""
        return {setting: getattr(self, setting) for setting in self._beside}

    def called_by(self, **settings: str) -> "Kafka":
        """The same, where topics are set by other settings than for meters: stream -> setting."""
        other = self.model_copy()
        other._settings = settings  # noqa: SLF001 - the same class
        return other

    def setting_of(self, stream: str) -> str:
        """By which setting of ours the topic of a stream is set."""
        return self._settings.get(stream, stream)

    @property
    def names(self) -> frozenset[str]:
        """The names in here, which libraries may mention in logs."""
        hosts = (server.rpartition(":")[0] for server in self.bootstrap_servers)
        return frozenset((self.group, *self._topics().values(), *self.outputs, *hosts))

    @model_validator(mode="after")
    def _is_coherent(self) -> "Kafka":
        topics = self._topics()
        refuse(
            [
                InvalidSetting(
                    stream,
                    "is the topic of another stream too",
                    f'write for example "{type(self).model_fields[stream].default}"',
                )
                for i, (stream, topic) in enumerate(topics.items())
                if topic in list(topics.values())[:i]
            ]
        )
        return self

    def _topics(self) -> dict[str, str]:
        return {
            "input": self.input,
            "output": self.output,
            "ledger": self.ledger,
            "rejected": self.rejected,
            "policies": self.policies,
            "groups": self.groups,
            "groups_output": self.groups_output,
            "partials": self.partials,
            "homes_ledger": self.homes_ledger,
            "groups_ledger": self.groups_ledger,
        }
