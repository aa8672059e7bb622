"""`check`: the configuration, then everything that it names, one problem per line."""

import asyncio
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable
from contextlib import suppress

from meteragent.commands.exit_codes import Exit, report
from meteragent.config import Config, load, refuse_unreadable
from meteragent.errors import KeyRefused, MeterAgentError
from meteragent.explain import advice
from meteragent.explain.words import time_text
from meteragent.formats.mapped import message_decoder
from meteragent.privacy import native
from meteragent.stream.meters import lookalikes
from meteragent.stream.trail import read_back

PLANNED, MANY = 200_000, 100_000
"""Readings a second and core, and meters, as deploy/operations.md plans with them."""


def run(arguments: Namespace) -> Exit:
    """Check all there is, and end as the first problem asks for."""
    config = load(arguments.config, os.environ)
    policies = (*config.policy, *config.group)
    names = ", ".join(policy.name for policy in policies)
    sys.stdout.write(f"configuration: good, with policies {names}\n")
    for policy in policies:
        _warn(policy.name, advice.of_grid(policy.guarantee))
        _warn(policy.name, advice.of_joint(policy.policy))
    if not arguments.offline:
        config.refuse_groups()
    if config.policy:
        sys.stdout.write(_replay(config))
    sys.stdout.write(f"records: read by {native.way()}\n")
    if not arguments.offline:
        sys.stdout.write(
            f"{config.kafka.input}: readings are taken from the partition that "
            f"{config.kafka.partitioner} puts their meter in, and from no other\n"
        )
    checks = OFFLINE if arguments.offline else (*OFFLINE, *ONLINE)
    codes = [_code(what, check, config) for what, check in checks]
    return next(filter(None, codes), Exit.OK)


def _replay(config: Config) -> str:
    """What a restart takes, of the policy of which it takes the most."""
    policy = max(config.policies, key=lambda one: read_back(one) / one.interval)
    back = read_back(policy)
    readings = -(-back // policy.interval)
    seconds = readings * MANY // PLANNED
    return (
        f"a restart reads back at most {time_text(back)}: {readings:,} readings of a meter, and of "
        f"{MANY:,} meters in {time_text(seconds * 1000)} at {PLANNED:,} a second\n"
    )


def _topics(config: Config) -> None:
    """Connection, login, rights, topics and their settings; whose ledger it is, and known ids."""
    from meteragent.kafka import ledger_topic, topics  # noqa: PLC0415 - aiokafka is slow to load
    from meteragent.kafka.clients import Clients  # noqa: PLC0415

    message_decoder(config.mapping)
    clients = Clients(config.kafka)
    asyncio.run(topics.refuse_unfit(config, clients))
    told, warnings = asyncio.run(topics.lifetimes(clients))
    sys.stdout.writelines(f"{line}\n" for line in told)
    _warn(config.kafka.output, warnings)
    with suppress(KeyRefused):  # which is said already
        known = asyncio.run(ledger_topic.judged(config, config.agent.noise_key(), clients))
        if not config.agent.normalise_ids:
            _warn(config.kafka.ledger, advice.of_ids(lookalikes(known)))


def _secrets(config: Config) -> None:
    """That all can be read, and the status page be served with what it is given."""
    from meteragent.watch.web import credentials  # noqa: PLC0415 - the server takes its time too

    refuse_unreadable(config)
    credentials(config.http)


Checks = tuple[tuple[str, Callable[[Config], object]], ...]

OFFLINE: Checks = (
    ("certificates and secrets", _secrets),
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


def _warn(what: str, warnings: Iterable[str]) -> None:
    sys.stdout.writelines(f"{what}: warning: {warning}\n" for warning in warnings)
