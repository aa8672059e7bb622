"""A cluster and its directory: made, started, broken on purpose, stopped, removed."""

from __future__ import annotations

import base64
import json
import random
import shutil
import signal
import socket
import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from localkafka import probe, runtime, security
from localkafka.errors import BrokerError
from localkafka.properties import ADMIN, Options, scram_users, server_properties
from localkafka.security import CLIENT, USERS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from localkafka.runtime import Runtime

_STATE = "cluster.json"
_READY_WITHIN = 90.0
_ENDED_WITHIN = 15.0
_POLL = 0.05
_HEAP = {1: "512m", 3: "384m"}


@dataclass(frozen=True, slots=True)
class Cluster:
    """Brokers that share a directory; everything known of them is in its files."""

    directory: Path
    options: Options
    ports: Mapping[str, list[int]]
    runtime: Runtime

    @classmethod
    def load(cls, directory: Path) -> Cluster | None:
        """Return the cluster of that directory, if there is one."""
        try:
            state = json.loads((directory / _STATE).read_text("utf-8"))
        except FileNotFoundError:
            return None
        options = Options(**state["options"])
        how = runtime.recall(state["runtime"], options.kafka)
        return cls(directory, options, state["ports"], how)

    @classmethod
    def create(cls, directory: Path, options: Options, port: int | None) -> Cluster:
        """Make the files of a new cluster; its state is written last, when all else is there."""
        how = runtime.prepare(options.kafka)
        cluster = cls(directory, options, _choose_ports(options, port), how)
        if options.tls:
            security.make_certificates(directory / "tls")
        if options.sasl:
            security.make_passwords(directory / "secrets")
        cluster._format()
        state = {
            "options": options.as_json(),
            "ports": cluster.ports,
            "runtime": type(how).__name__,
        }
        (directory / _STATE).write_text(json.dumps(state, indent=2) + "\n", "utf-8")
        return cluster

    @property
    def bootstrap(self) -> str:
        """The address that needs no credentials."""
        return self.address(ADMIN)

    def address(self, listener: str) -> str:
        """Return the bootstrap address of a listener: every broker, comma-separated."""
        return ",".join(f"127.0.0.1:{port}" for port in self.ports[listener])

    def alive(self, node: int) -> bool:
        """Tell whether that broker's process runs."""
        handle = self._handle(node)
        return bool(handle) and self.runtime.alive(self._broker(node), handle)

    def start(self, *nodes: int) -> None:
        """Start those brokers that do not run, and wait until each serves clients."""
        for node in nodes:
            if not self.alive(node):
                heap = _HEAP[self.options.brokers]
                broker = self._broker(node)
                handle = self.runtime.spawn(broker, broker / "server.properties", heap)
                (broker / "pid").write_text(handle, "ascii")
        deadline = time.monotonic() + _READY_WITHIN
        for node in nodes:
            while not self._ready(node):
                if not self.alive(node):
                    self._fail(node, "ended while starting")
                if time.monotonic() > deadline:
                    self._fail(node, f"was not ready after {_READY_WITHIN:.0f} s")
                time.sleep(_POLL)

    def stop(self, *nodes: int) -> None:
        """End those brokers in good order; by force the last ones, which hang without a quorum."""
        for node in nodes:
            self.send(node, signal.SIGCONT)
            self.send(node, signal.SIGTERM)
        _within(_ENDED_WITHIN, lambda: not any(map(self.alive, nodes)) or not self._has_quorum())
        self.kill(*nodes)

    def kill(self, *nodes: int) -> None:
        """End those brokers at once, as a power cut does."""
        for node in nodes:
            self.send(node, signal.SIGKILL)
        if not _within(_ENDED_WITHIN, lambda: not any(map(self.alive, nodes))):
            raise BrokerError(f"brokers {nodes} survived SIGKILL")

    def send(self, node: int, number: signal.Signals) -> None:
        """Send a signal to that broker's process, if it runs."""
        if handle := self._handle(node):
            self.runtime.send(self._broker(node), handle, number)

    def remove(self) -> None:
        """Remove what the cluster wrote, and nothing that others may have put beside it."""
        for name in ("tls", "secrets", *(f"broker-{node}" for node in self.options.ids)):
            shutil.rmtree(self.directory / name, ignore_errors=True)
        (self.directory / _STATE).unlink(missing_ok=True)

    def describe(self) -> dict[str, str]:
        """Return what a client needs to know, as `start` prints it."""
        listeners = {name.lower(): self.address(name) for name in self.options.client_listeners}
        told = {"bootstrap": listeners.pop(ADMIN.lower()), **listeners}
        if self.options.tls:
            tls = self.directory / "tls"
            told |= {"ca": f"{tls}/ca.pem"}
            told |= {f"client_{part}": f"{tls}/{CLIENT}.{part}" for part in ("crt", "key")}
        if self.options.sasl:
            secrets = self.directory / "secrets"
            told |= {f"{user}_password_file": f"{secrets}/{user}.password" for user in USERS}
        return told

    def _format(self) -> None:
        cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode("ascii").rstrip("=")
        passwords = security.read_passwords(self.directory / "secrets") if self.options.sasl else {}
        for node in self.options.ids:
            broker = self._broker(node)
            shutil.rmtree(broker, ignore_errors=True)  # a start that was cut short
            broker.mkdir(parents=True)
            properties = broker / "server.properties"
            text = server_properties(self.options, node, self.ports, self.directory, passwords)
            security.write_secret(properties, text)
            done = self.runtime.run(
                self.directory,
                "kafka.tools.StorageTool",
                *("format", f"--cluster-id={cluster_id}", "--config", str(properties)),
                *scram_users(passwords),
            )
            if done.returncode:
                raise BrokerError(
                    f"Kafka refused the settings of broker {node}:\n{_reason(done.stderr)}"
                )

    def _ready(self, node: int) -> bool:
        view = probe.ask(self.ports[ADMIN][node - 1])
        return view is not None and view.controller > 0 and node in view.brokers

    def _has_quorum(self) -> bool:
        return 2 * sum(map(self.alive, self.options.ids)) > self.options.brokers

    def _broker(self, node: int) -> Path:
        return self.directory / f"broker-{node}"

    def _handle(self, node: int) -> str:
        try:
            return (self._broker(node) / "pid").read_text("ascii")
        except FileNotFoundError:
            return ""

    def _fail(self, node: int, what: str) -> None:
        logs = [self._broker(node) / name for name in ("console.log", "broker.log")]
        lines = [line for log in logs if log.exists() for line in log.read_text().splitlines()]
        tail = "\n".join(lines[-20:])
        raise BrokerError(f"broker {node} {what}; its log ends:\n{tail}")


def _reason(stderr: str) -> str:
    lines = [line for line in stderr.splitlines() if line and not line.startswith("\tat ")]
    return "\n".join(lines[:5])


def _within(seconds: float, condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL)
    return True


def _choose_ports(options: Options, first: int | None) -> dict[str, list[int]]:
    """Give every listener of every broker a port: free ones, or counted up from `first`.

    Free ports come from below the range that the kernel gives to outgoing connections: a client
    that reconnects to a killed broker could otherwise take its port, or even meet itself there.
    """
    slots = [(name, node) for name in options.listeners for node in options.ids]
    chosen: list[int] = []
    candidates = iter(range(first, 1 << 16)) if first else iter(_shuffled(range(12_000, 30_000)))
    for port in candidates:
        if len(chosen) == len(slots):
            break
        if _free(port):
            chosen.append(port)
        elif first:
            raise BrokerError(
                f"port {port} is taken: --port {first} needs {len(slots)} ports from there"
            )
    ports: dict[str, list[int]] = {name: [] for name in options.listeners}
    for (name, _), port in zip(slots, chosen, strict=True):
        ports[name].append(port)
    return ports


def _shuffled(ports: range) -> list[int]:
    return random.sample(ports, len(ports))


def _free(port: int) -> bool:
    with socket.socket() as attempt:
        attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            attempt.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
