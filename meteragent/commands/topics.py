"""`topics`: what the agent needs in Kafka, made; and who is in which group, told."""

import asyncio
import os
import sys
import time
from argparse import Namespace
from datetime import UTC, datetime

from meteragent.commands.exit_codes import Exit
from meteragent.config import Config, load
from meteragent.config.works import works
from meteragent.errors import InvalidSetting
from meteragent.files import members
from meteragent.kafka import memberships, topics
from meteragent.kafka.clients import Clients
from meteragent.privacy.members import ALWAYS


def run(arguments: Namespace) -> Exit:
    """Make topics, or fill the one of members."""
    return ACTIONS[arguments.action](arguments)


def _make(arguments: Namespace) -> Exit:
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


def _members(arguments: Namespace) -> Exit:
    """Say which homes are in which groups."""
    config = load(arguments.config, os.environ)
    if not config.group:
        raise InvalidSetting("group", "is missing", "write [[group]]")
    wanted = members.read(arguments.groups, normalise_ids=config.agent.normalise_ids)
    clients, now = Clients(config.kafka), int(time.time() * 1000)
    asyncio.run(topics.refuse_no_members(config, clients))
    count, since = asyncio.run(memberships.tell(config, clients, wanted, now))
    begin = ""
    if since != ALWAYS:
        moment = datetime.fromtimestamp(since / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        begin = f", for windows that begin from {moment} on"
    sys.stdout.write(f"{config.kafka.groups}: {count} homes written{begin}\n")
    return Exit.OK


ACTIONS = {"create": _make, "members": _members}
