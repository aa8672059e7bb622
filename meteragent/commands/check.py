"""`check`: the configuration, then everything that it names, one problem per line."""

import asyncio
import os
import sys
from argparse import Namespace
from collections.abc import Callable

from meteragent.commands.exits import Exit, report
from meteragent.config import Config, load, refuse_unreadable
from meteragent.errors import MeterAgentError


def run(arguments: Namespace) -> Exit:
    """Check all there is, and end as the first problem asks for."""
    config = load(arguments.config, os.environ)
    names = ", ".join(policy.name for policy in config.policy)
    sys.stdout.write(f"configuration: good, with policies {names}\n")
    checks = OFFLINE if arguments.offline else (*OFFLINE, *ONLINE)
    codes = [_code(what, check, config) for what, check in checks]
    return next(filter(None, codes), Exit.OK)


def _topics(config: Config) -> None:
    """Connection, login, rights, topics, their settings and partitions, retention."""
    from meteragent.kafka import topics  # noqa: PLC0415 - aiokafka takes its time to load
    from meteragent.kafka.clients import Clients  # noqa: PLC0415

    asyncio.run(topics.refuse_unfit(config, Clients(config.kafka)))


def _status_page(config: Config) -> None:
    """That it could be served: its certificate, its key, and what they are locked with."""
    from meteragent.watch.web import credentials  # noqa: PLC0415 - the server takes its time too

    credentials(config.http)


Checks = tuple[tuple[str, Callable[[Config], object]], ...]

OFFLINE: Checks = (
    ("certificates and secrets", refuse_unreadable),
    ("status page", _status_page),
    ("noise key", lambda config: config.agent.noise_key()),
)
ONLINE: Checks = (("brokers and topics", _topics),)
"""What is checked, in this order; each raises what is wrong."""


def _code(what: str, check: Callable[[Config], object], config: Config) -> Exit:
    try:
        check(config)
    except MeterAgentError as error:
        return report(error)
    sys.stdout.write(f"{what}: good\n")
    return Exit.OK
