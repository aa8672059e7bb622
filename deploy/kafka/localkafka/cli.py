"""The command line: every command works on one directory, one at a time."""

# ruff: noqa: T201 - a command prints
from __future__ import annotations

import argparse
import fcntl
import signal
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from localkafka import jars
from localkafka.cluster import Cluster
from localkafka.errors import BrokerError
from localkafka.properties import Options

if TYPE_CHECKING:
    from collections.abc import Iterator

_NOT_RUNNING = 3
_TOOLS = {
    "topics": "org.apache.kafka.tools.TopicCommand",
    "acls": "org.apache.kafka.tools.AclCommand",
    "configs": "kafka.admin.ConfigCommand",
    "groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "transactions": "org.apache.kafka.tools.TransactionsCommand",
}


def main() -> None:
    """Run one command; exit 0 when done, 1 on a fault, 3 not running, 4 cannot run here."""
    arguments = _parser().parse_args()
    try:
        with _locked(arguments.dir):
            code = arguments.command(arguments)
    except BrokerError as error:
        print(f"broker: {error}", file=sys.stderr)
        code = error.exit_code
    sys.exit(code)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="broker", description=main.__doc__)
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument(
        "--dir", type=_absolute, default=jars.cache() / "broker", help="where the cluster lives"
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, does: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=does, description=does, parents=[shared])
        made.set_defaults(command=globals()[f"_{name}"])
        return made

    start = command("start", "start the cluster, wait until it serves, print its addresses")
    start.add_argument("--brokers", type=int, choices=(1, 3), default=1)
    start.add_argument("--tls", action="store_true", help="add listeners for TLS and mutual TLS")
    start.add_argument("--sasl", action="store_true", help="add listeners for SCRAM and PLAIN")
    start.add_argument("--port", type=int, help="the first port (default: free ones)")
    start.add_argument("--kafka", default=jars.default_version(), metavar="VERSION")
    start.add_argument(
        "--set", type=_setting, action="append", default=[], metavar="KEY=VALUE", dest="settings"
    )
    stop = command("stop", "end the brokers and remove their data")
    stop.add_argument("--keep", action="store_true", help="keep the data for the next start")
    command("status", "print addresses and exit 0 if every broker runs, else exit 3")
    for name, does in (
        ("kill", "end brokers at once, as a power cut does"),
        ("freeze", "make brokers hang, as a stalled machine does"),
        ("thaw", "let frozen brokers run on"),
        ("restart", "stop brokers in good order if they run, and start them again"),
    ):
        command(name, does).add_argument("nodes", type=int, nargs="+", metavar="ID")
    tool = command("tool", "run one of Kafka's own commands against the cluster")
    tool.add_argument("tool", choices=_TOOLS)
    tool.add_argument("rest", nargs=argparse.REMAINDER, metavar="...")
    return parser


def _absolute(text: str) -> Path:
    return Path(text).resolve()


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return key, value


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _start(arguments: argparse.Namespace) -> int:
    options = Options(
        arguments.kafka,
        arguments.brokers,
        arguments.tls,
        arguments.sasl,
        dict(arguments.settings),
    )
    cluster = Cluster.load(arguments.dir)
    if cluster is None:
        cluster = Cluster.create(arguments.dir, options, arguments.port)
    elif cluster.options != options:
        raise BrokerError(f"{arguments.dir} holds a cluster with other options: stop it first")
    cluster.start(*cluster.options.ids)
    _print(cluster)
    return 0


def _stop(arguments: argparse.Namespace) -> int:
    cluster = Cluster.load(arguments.dir)
    if cluster is None:
        return 0
    if arguments.keep:
        cluster.stop(*cluster.options.ids)
    else:
        cluster.kill(*cluster.options.ids)
        cluster.remove()
    return 0


def _status(arguments: argparse.Namespace) -> int:
    cluster = Cluster.load(arguments.dir)
    if cluster is None:
        print("no cluster", file=sys.stderr)
        return _NOT_RUNNING
    _print(cluster)
    running = {node: cluster.alive(node) for node in cluster.options.ids}
    for node, alive in running.items():
        print(f"broker_{node}={'running' if alive else 'stopped'}")
    return 0 if all(running.values()) else _NOT_RUNNING


def _kill(arguments: argparse.Namespace) -> int:
    _existing(arguments).kill(*arguments.nodes)
    return 0


def _freeze(arguments: argparse.Namespace) -> int:
    cluster = _existing(arguments)
    for node in arguments.nodes:
        cluster.send(node, signal.SIGSTOP)
    return 0


def _thaw(arguments: argparse.Namespace) -> int:
    cluster = _existing(arguments)
    for node in arguments.nodes:
        cluster.send(node, signal.SIGCONT)
    return 0


def _restart(arguments: argparse.Namespace) -> int:
    cluster = _existing(arguments)
    cluster.stop(*arguments.nodes)
    cluster.start(*arguments.nodes)
    return 0


def _tool(arguments: argparse.Namespace) -> int:
    cluster = _existing(arguments)
    done = cluster.runtime.run(
        cluster.directory,
        _TOOLS[arguments.tool],
        *("--bootstrap-server", cluster.bootstrap, *arguments.rest),
    )
    sys.stdout.write(done.stdout)
    sys.stderr.write(done.stderr)
    return done.returncode


def _existing(arguments: argparse.Namespace) -> Cluster:
    cluster = Cluster.load(arguments.dir)
    if cluster is None:
        raise BrokerError(f"{arguments.dir} holds no cluster: start one first")
    unknown = set(getattr(arguments, "nodes", ())) - set(cluster.options.ids)
    if unknown:
        raise BrokerError(f"no broker {min(unknown)}: this cluster has {list(cluster.options.ids)}")
    return cluster


def _print(cluster: Cluster) -> None:
    for key, value in cluster.describe().items():
        print(f"{key}={value}")
