"""`topics create`: what the agent needs in Kafka."""

import asyncio
import os
import sys
from argparse import Namespace

from meteragent.commands.exit_codes import Exit
from meteragent.config import Config, load
from meteragent.config.works import works
from meteragent.kafka import topics
from meteragent.kafka.clients import Clients


def run(arguments: Namespace) -> Exit:
    """Make the topics that do not exist yet."""
    config = load(arguments.config, os.environ)
    made = [name for own in works(config).values() for name in asyncio.run(_create(own, arguments))]
    for name in made:
        sys.stdout.write(f"{name}: made\n")
    if not made:
        sys.stdout.write("all topics exist already\n")
    return Exit.OK


async def _create(config: Config, arguments: Namespace) -> list[str]:
    """Those of one kind of work."""
    clients = Clients(config.kafka)
    return await topics.create(config, clients, arguments.partitions, arguments.replication)
