"""What a broker reads at its start: settings under which tests are quick and faults are real."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from localkafka.security import CLIENT, SUPER_USER, USERS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

ADMIN = "PLAINTEXT"
_CONTROLLER = "CONTROLLER"
_TLS = ("SSL", "MTLS")
_SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
MECHANISMS = ("PLAIN", *_SCRAM)


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked for; a cluster keeps it for its whole life."""

    kafka: str
    brokers: int = 1
    tls: bool = False
    sasl: bool = False
    overrides: Mapping[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, object]:
        """Return a value that equals itself after a round trip through JSON."""
        return asdict(self)

    @property
    def ids(self) -> range:
        """Node ids count from 1."""
        return range(1, self.brokers + 1)

    @property
    def client_listeners(self) -> tuple[str, ...]:
        """Listeners for clients; the first one is open to everybody on this machine."""
        tls = _TLS if self.tls else ()
        sasl = ("SASL_PLAINTEXT",) if self.sasl else ()
        both = ("SASL_SSL",) if self.tls and self.sasl else ()
        return (ADMIN, *tls, *sasl, *both)

    @property
    def listeners(self) -> tuple[str, ...]:
        """Every listener of every broker: each needs a port."""
        return (*self.client_listeners, _CONTROLLER)


_QUICK = {
    # A group forms, and notices a dead member, at once.
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 1000,
    # So does the cluster notice a dead broker, and the coordinator an abandoned transaction.
    "broker.session.timeout.ms": 3000,
    "broker.heartbeat.interval.ms": 500,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 500,
    # Retention and compaction do their work while a test looks.
    "log.initial.task.delay.ms": 500,
    "log.retention.check.interval.ms": 1000,
    "log.cleaner.backoff.ms": 500,
    # ... but not unasked: a test may replay readings of any year.
    "log.retention.ms": -1,
    # Little memory and little disk, so that three brokers fit on a laptop, or on a small tmpfs.
    "log.segment.bytes": 16 << 20,
    "log.index.size.max.bytes": 256 << 10,
    "log.cleaner.dedupe.buffer.size": 8 << 20,
    "offsets.topic.num.partitions": 5,
    "transaction.state.log.num.partitions": 5,
    "share.coordinator.state.topic.num.partitions": 1,
    "num.network.threads": 2,
    "num.io.threads": 4,
    "background.threads": 2,
    # A misspelt topic is an error.
    "auto.create.topics.enable": "false",
}


def server_properties(
    options: Options,
    node: int,
    ports: Mapping[str, list[int]],
    directory: Path,
    passwords: Mapping[str, str],
) -> str:
    """Return the text of server.properties; it holds passwords where `options.sasl`."""
    settings: dict[str, object] = {
        **_identity(options, node, ports, directory),
        **_QUICK,
        **_replication(options.brokers),
        **(_tls(directory / "tls") if options.tls else {}),
        **(_sasl(options, passwords) if options.sasl else {}),
        **options.overrides,
    }
    return "".join(f"{key}={value}\n" for key, value in settings.items())


def scram_users(passwords: Mapping[str, str]) -> list[str]:
    """Return the arguments that make `kafka-storage format` write the SCRAM users."""
    return [
        argument
        for mechanism in _SCRAM
        for user, password in passwords.items()
        for argument in ("--add-scram", f"{mechanism}=[name={user},password={password}]")
    ]


def _identity(
    options: Options, node: int, ports: Mapping[str, list[int]], directory: Path
) -> dict[str, object]:
    def urls(names: tuple[str, ...]) -> str:
        return ",".join(f"{name}://127.0.0.1:{ports[name][node - 1]}" for name in names)

    voters = (f"{i}@127.0.0.1:{ports[_CONTROLLER][i - 1]}" for i in options.ids)
    protocols = {name: name for name in options.listeners}
    protocols |= {"MTLS": "SSL", _CONTROLLER: "PLAINTEXT"}
    return {
        "process.roles": "broker,controller",
        "node.id": node,
        "log.dirs": directory / f"broker-{node}" / "data",
        "listeners": urls(options.listeners),
        "advertised.listeners": urls(options.client_listeners),
        "listener.security.protocol.map": ",".join(f"{k}:{v}" for k, v in protocols.items()),
        "inter.broker.listener.name": ADMIN,
        "controller.listener.names": _CONTROLLER,
        "controller.quorum.voters": ",".join(voters),
    }


def _replication(brokers: int) -> dict[str, object]:
    in_sync = max(1, brokers - 1)
    return {
        "default.replication.factor": brokers,
        "min.insync.replicas": in_sync,
        "offsets.topic.replication.factor": brokers,
        "transaction.state.log.replication.factor": brokers,
        "transaction.state.log.min.isr": in_sync,
        "share.coordinator.state.topic.replication.factor": brokers,
        "share.coordinator.state.topic.min.isr": in_sync,
    }


def _tls(directory: Path) -> dict[str, object]:
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": directory / "server.pem",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": directory / "ca.pem",
        "listener.name.mtls.ssl.client.auth": "required",
    }


def _sasl(options: Options, passwords: Mapping[str, str]) -> dict[str, object]:
    """Authenticate, and authorise: all is allowed but to a guest, who needs an ACL for anything."""
    login = "org.apache.kafka.common.security"
    plain = " ".join(f'user_{user}="{passwords[user]}"' for user in USERS)
    modules = {"plain": f"{login}.plain.PlainLoginModule required {plain};"}
    modules |= {m.lower(): f"{login}.scram.ScramLoginModule required;" for m in _SCRAM}
    listeners = [name.lower() for name in options.client_listeners if name.startswith("SASL")]
    return {
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        **{
            f"listener.name.{listener}.{mechanism}.sasl.jaas.config": module
            for listener in listeners
            for mechanism, module in modules.items()
        },
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": f"User:ANONYMOUS;User:{SUPER_USER};User:CN={CLIENT}",
    }
