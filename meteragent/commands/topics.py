"""`topics create`: what the agent needs in Kafka."""

import asyncio
import os
import sys
from argparse import Namespace

from meteragent.commands.exit_codes import Exit
from meteragent.config import load
from meteragent.kafka import topics
from meteragent.kafka.clients import Clients


def run(arguments: Namespace) -> Exit:
    """Make the topics that do not exist yet."""
    config = load(arguments.config, os.environ)
    config.refuse_groups()
    clients = Clients(config.kafka)
    made = asyncio.run(topics.create(config, clients, arguments.partitions, arguments.replication))
    for name in made:
        sys.stdout.write(f"{name}: made\n")
    if not made:
        sys.stdout.write("all topics exist already\n")
    return Exit.OK
