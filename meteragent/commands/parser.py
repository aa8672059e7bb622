"""All commands and their arguments."""

from argparse import ArgumentParser, RawDescriptionHelpFormatter, _SubParsersAction
from pathlib import Path

from meteragent import __version__
from meteragent.commands import arguments as files
from meteragent.commands.exit_codes import table


def parser() -> ArgumentParser:
    """All commands and their arguments."""
    top = ArgumentParser(
        prog="meteragent",
        description="Private releases of smart meter readings, from Kafka to Kafka.",
        epilog=f"exit codes:\n{table()}",
        formatter_class=RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"meteragent {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)

    _add_check(commands)
    _add_explain(commands)
    _add_explore(commands)
    _add_init(commands)

    key = commands.add_parser("key", help="the noise key").add_subparsers(
        dest="action", metavar="ACTION", required=True
    )
    create = key.add_parser("create", help="make a new one, for its owner alone")
    create.add_argument("path", type=Path, metavar="PATH", help="a file that does not exist yet")

    adopt = key.add_parser(
        "adopt", help="make a ledger this key's, after a rotation; the agents must be stopped"
    )
    _takes_config(adopt, required=False)
    _takes_ledger(adopt)
    adopt.add_argument(
        "--key-file", metavar="FILE", help="of such a file: holds the noise key, if no -c does"
    )

    run = commands.add_parser("run", help="sanitize what comes in on Kafka, until told to stop")
    _takes_config(run)
    run.add_argument(
        "--processes",
        metavar="N",
        help='so many of them in one instance, or "auto": one for each processor; instead of '
        "agent.processes",
    )

    _add_gateway(commands)
    _add_inputs(commands)
    _add_topics(commands)
    _add_ledger(commands)

    _add_descriptions(commands)
    return top


def _add_check(commands: "_SubParsersAction[ArgumentParser]") -> None:
    check = commands.add_parser("check", help="say what is wrong, before it matters")
    _takes_config(check)
    check.add_argument(
        "--offline", action="store_true", help="only what can be checked without the brokers"
    )
    check.add_argument(
        "--strict",
        action="store_true",
        help="fail on warnings too; see SECURITY",
    )


def _add_explain(commands: "_SubParsersAction[ArgumentParser]") -> None:
    explain = commands.add_parser("explain", help="what a setting protects, in plain words")
    form = explain.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="exact numbers, for programs")
    form.add_argument(
        "--dpia", action="store_true", help="the beginning of a data protection impact assessment"
    )
    explain.add_argument(
        "--meter", metavar="ID", help="the most it may lose, by itself and through its groups"
    )
    explain.add_argument(
        "--groups", type=Path, metavar="FILE", help="which homes are in which groups; for --meter"
    )
    files.add_policy(explain)


def _add_explore(commands: "_SubParsersAction[ArgumentParser]") -> None:
    explore = commands.add_parser("explore", help="a page to try settings on, for any browser")
    explore.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("explorer.html"),
        metavar="FILE",
        help="the page (default: explorer.html)",
    )
    explore.add_argument("--policy", metavar="NAME", help="of -c, to begin with (the first)")
    files.add_policy(explore)


def _add_init(commands: "_SubParsersAction[ArgumentParser]") -> None:
    init = commands.add_parser("init", help="make a configuration, a key and topics to start with")
    choices = (*files.CHOICES["preset"], *files.OF_GROUPS)
    init.add_argument(
        "preset", choices=choices, help="what is to be hidden; feeder… are for groups of homes"
    )
    init.add_argument(
        "--interval", metavar="10s", help="from one reading of a meter to the next (the preset's)"
    )
    init.add_argument("--name", metavar="NAME", help="what people call the policy (the preset's)")
    init.add_argument(
        "--bootstrap", metavar="HOST:PORT", help="brokers, with commas between: topics are made"
    )
    _takes_topics(init)
    init.add_argument(
        "-c",
        "--config",
        type=Path,
        default=Path("agent.toml"),
        metavar="FILE",
        help="to write, with the key beside it (default: agent.toml)",
    )


def _takes_topics(command: ArgumentParser) -> None:
    command.add_argument(
        "--partitions", type=int, default=6, metavar="N", help="of input and ledger (default: 6)"
    )
    command.add_argument(
        "--replication", type=int, default=1, metavar="N", help="copies of each (default: 1)"
    )


def _add_descriptions(commands: "_SubParsersAction[ArgumentParser]") -> None:
    config = commands.add_parser("config", help="the configuration").add_subparsers(
        dest="action", metavar="ACTION", required=True
    )
    config.add_parser("reference", help="every setting, as Markdown")

    completion = commands.add_parser("completion", help="what a shell reads to complete commands")
    completion.add_argument(
        "shell",
        choices=("bash", "zsh", "fish"),
        help='which one; read it by eval "$(meteragent completion bash)", in fish by | source',
    )

    schema = commands.add_parser("schema", help="the JSON Schema of a message")
    schema.add_argument("name", choices=("reading", "release", "policy", "reject", "explanation"))


def _add_gateway(commands: "_SubParsersAction[ArgumentParser]") -> None:
    gateway = commands.add_parser("gateway", help="the same on MQTT, with a journal on the disk")
    _takes_config(gateway)
    gateway.add_argument(
        "--accept-loss",
        action="store_true",
        help="go on without a journal that was lost or damaged: open windows lack its readings",
    )


def _add_inputs(commands: "_SubParsersAction[ArgumentParser]") -> None:
    sanitize = commands.add_parser("sanitize", help="the same for a file or a pipe, without Kafka")
    files.add(sanitize)

    convert = commands.add_parser(
        "convert", help="a document as lines for `sanitize -`: a JSON array, NEM12, Green Button"
    )
    convert.add_argument("input", metavar="IN", help="may be gzip; - is a pipe")
    inspect = commands.add_parser(
        "inspect", help="what an input probably holds, and the command that reads it"
    )
    inspect.add_argument("input", metavar="FILE|TOPIC", help="a file; with -c, a topic in Kafka")
    _takes_config(inspect, required=False)


def _add_topics(commands: "_SubParsersAction[ArgumentParser]") -> None:
    topics = commands.add_parser("topics", help="the topics in Kafka").add_subparsers(
        dest="action", metavar="ACTION", required=True
    )
    make = topics.add_parser("create", help="make those that do not exist yet")
    _takes_config(make)
    _takes_topics(make)
    members = topics.add_parser(
        "members", help="publish which homes are in which groups, from a CSV"
    )
    members.add_argument("groups", metavar="GROUPS", type=Path, help="the CSV, as of sanitize")
    _takes_config(members)


def _add_ledger(commands: "_SubParsersAction[ArgumentParser]") -> None:
    ledger = commands.add_parser("ledger", help="what meters have spent").add_subparsers(
        dest="action", metavar="ACTION", required=True
    )
    migrate = ledger.add_parser(
        "migrate", help="follow the input to more partitions; the agents must be stopped"
    )
    _takes_config(migrate)
    migrate.add_argument(
        "--gather",
        action="store_true",
        help="also accounts where no sender should have put them; those of a meter add up",
    )
    accept = ledger.add_parser(
        "accept-loss",
        help="go on after the ledger was lost, one horizon later; the agents must be stopped",
    )
    _takes_config(accept)
    accept.add_argument(
        "--yes",
        action="store_true",
        help="go on at once: in this horizon meters may spend up to a second budget",
    )
    _add_accounts(ledger)


def _add_accounts(ledger: "_SubParsersAction[ArgumentParser]") -> None:
    show = ledger.add_parser("show", help="one meter: spent, remaining, next refresh, history")
    show.add_argument("meter", metavar="METER", help="its id")
    most = ledger.add_parser("top", help="the meters that have spent the most")
    most.add_argument("--count", type=int, default=10, metavar="N", help="how many (default: 10)")
    totals = ledger.add_parser("totals", help="all meters of each policy together")
    for command in (show, most, totals):
        _takes_config(command, required=False)
        _takes_ledger(command)
        command.add_argument("--csv", action="store_true", help="for programs")


def _takes_ledger(command: ArgumentParser) -> None:
    command.add_argument(
        "--ledger", type=Path, metavar="FILE", help="the SQLite file of `sanitize`, not Kafka"
    )


def _takes_config(command: ArgumentParser, *, required: bool = True) -> None:
    command.add_argument(
        "-c", "--config", type=Path, required=required, metavar="FILE", help="the configuration"
    )
