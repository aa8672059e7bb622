"""`init`: from what is to be hidden to an agent that can be started; nothing is overwritten."""

import asyncio
import json
import os
import sys
import tomllib
from argparse import Namespace
from decimal import Decimal
from pathlib import Path

from meteragent.commands.exit_codes import Exit
from meteragent.config import Config, from_document, keyfile, load
from meteragent.config.presets import presets
from meteragent.config.works import works
from meteragent.errors import ConfigRefused, FileRefused, InvalidSetting

KEY = "noise.key"
ARGUMENTS = {
    **{
        f"{table}[0].{field}": argument
        for table in ("policy", "group")
        for field, argument in (
            ("preset", "PRESET"),
            ("interval", "--interval"),
            ("name", "--name"),
        )
    },
    "kafka.bootstrap_servers": "--bootstrap",
}
"""Settings -> the arguments that they are made of."""


def run(arguments: Namespace) -> Exit:
    """Write the configuration, make the key, and the topics if brokers are named; say so."""
    text, path = document(arguments), arguments.config
    _refuse(text)
    _said(path, made=_write(path, text))
    config = load(path, os.environ)
    key = path.parent / KEY
    missing = not key.exists()
    if missing:
        keyfile.create(key)
    config.agent.noise_key()
    _said(key, made=missing, more="; keep a copy as safe as the readings themselves")
    if arguments.bootstrap:
        _make_topics(config, arguments)
    _say_on(config, arguments)
    return Exit.OK


def document(arguments: Namespace) -> str:
    """The configuration, as somebody would write it."""
    of_groups = presets("groups")
    preset = (presets() | of_groups).get(arguments.preset)
    table = "group" if arguments.preset in of_groups else "policy"
    hides = f"  # to hide {preset.hides}" if preset else ""
    lines = [
        "# `meteragent config reference` explains every setting, and those that are not here.",
        "",
        "[agent]",
        "# Whoever holds this key can take the noise away: keep it as you keep the readings.",
        f'key_file = "{KEY}"',
        "",
    ]
    if arguments.bootstrap:
        servers = json.dumps(arguments.bootstrap.split(","))
        lines += ["[kafka]", f"bootstrap_servers = {servers}", ""]
    name = arguments.name or arguments.preset
    lines += [f"[[{table}]]", f"name = {json.dumps(name)}"]
    lines += [f"preset = {json.dumps(arguments.preset)}{hides}"]
    if arguments.interval:
        quoted = json.dumps(arguments.interval)
        lines += [f"interval = {quoted}  # from one reading of a meter to the next"]
    return "\n".join([*lines, ""])


def _refuse(text: str) -> None:
    """Refuse what would be no good configuration, before anything is written."""
    try:
        from_document(tomllib.loads(text, parse_float=Decimal), Path(), {})
    except ConfigRefused as refused:
        raise ConfigRefused(
            [
                InvalidSetting(ARGUMENTS.get(p.field, p.field), p.problem, p.instead)
                for p in refused.problems
            ]
        ) from None


def _write(path: Path, text: str) -> bool:
    """Write a new file; false if it is there, and says the same. FileRefused: or another thing."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        if path.read_bytes() == text.encode():
            return False
        problem = "already exists, and says something else"
        raise FileRefused(
            str(path), problem, "name another: -c FILE; nothing was changed"
        ) from None
    return True


def _make_topics(config: Config, arguments: Namespace) -> None:
    from meteragent.kafka import topics  # noqa: PLC0415 - aiokafka takes its time to load
    from meteragent.kafka.clients import Clients  # noqa: PLC0415

    many, copies = arguments.partitions, arguments.replication
    made = [
        name
        for own in works(config).values()
        for name in asyncio.run(topics.create(own, Clients(own.kafka), many, copies))
    ]
    for name in made:
        sys.stdout.write(f"{name}: made, a topic\n")
    if not made:
        sys.stdout.write("all topics exist already\n")


def _said(path: Path, *, made: bool, more: str = "") -> None:
    what = f"made{more}" if made else "already exists, left unchanged"
    sys.stdout.write(f"{path}: {what}\n")


def _say_on(config: Config, arguments: Namespace) -> None:
    """What is promised now, and what to do next."""
    policy = (config.policy or config.group)[0]
    sys.stdout.write(f"\n{policy.guarantee.promised().sentences[0]}\n\nNext:\n")
    for command in ("explain", *_ways(config, arguments)):
        sys.stdout.write(f"  meteragent {command} -c {arguments.config}\n")


def _ways(config: Config, arguments: Namespace) -> list[str]:
    """Commands; `groups.csv` says which homes are in which groups."""
    if arguments.bootstrap:
        return [*(["topics members groups.csv"] if config.group else []), "check", "run"]
    groups = " --groups groups.csv" if config.group else ""
    return [f"sanitize IN -o OUT --ledger spend.db{groups}"]
