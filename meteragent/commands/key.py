"""`key`: how noise keys are made, and how a ledger is told that its key was replaced."""

import asyncio
import os
import sys
from argparse import Namespace
from contextlib import closing
from pathlib import Path

from meteragent.commands.exit_codes import Exit
from meteragent.config import keyfile, load
from meteragent.config.secretfile import SecretFile
from meteragent.errors import FileRefused, InvalidSetting
from meteragent.files.ledger import SqliteLedger


def run(arguments: Namespace) -> Exit:
    """Make a key where none is, or make a ledger a key's."""
    return ACTIONS[arguments.action](arguments)


def _create(arguments: Namespace) -> Exit:
    keyfile.create(arguments.path)
    sys.stdout.write(f"{arguments.path}: made; keep a copy as safe as the readings themselves\n")
    return Exit.OK


def _adopt(arguments: Namespace) -> Exit:
    config = load(arguments.config, os.environ) if arguments.config else None
    if arguments.ledger is not None:
        if config is not None:
            key = config.agent.noise_key()
        elif arguments.key_file is not None:
            key = keyfile.load(SecretFile(Path(arguments.key_file)))
        else:
            raise InvalidSetting("--key-file", "is not given", "name the key, or a file with -c")
        if not arguments.ledger.is_file():
            raise FileRefused(
                str(arguments.ledger), "is not a file", "name the ledger of a `sanitize`"
            )
        with closing(SqliteLedger(str(arguments.ledger))) as ledger:
            ledger.adopt(key.fingerprint)
        sys.stdout.write(f"{arguments.ledger}: belongs to this key from now on\n")
        return Exit.OK
    if config is None:
        raise InvalidSetting("-c", "is missing", "name the configuration, or an SQLite --ledger")
    from meteragent.kafka.adopt import adopt_all  # noqa: PLC0415 - aiokafka takes its time to load

    for topic, count in asyncio.run(adopt_all(config, config.agent.noise_key())).items():
        sys.stdout.write(f"{topic}: {count} partitions belong to this key from now on\n")
    return Exit.OK


ACTIONS = {"create": _create, "adopt": _adopt}
