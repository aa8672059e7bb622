"""`check`: the configuration, then everything that it names, one problem per line."""

import asyncio
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable
from contextlib import suppress

from meteragent.commands.exit_codes import Exit, report
from meteragent.config import Config, load, refuse_unreadable
from meteragent.config.policy import PolicySettings
from meteragent.config.works import Work, works
from meteragent.errors import KeyRefused, MeterAgentError
from meteragent.explain import advice
from meteragent.explain.explain import doubts
from meteragent.explain.words import listed, time_text
from meteragent.formats.messages import message_decoder
from meteragent.privacy import native
from meteragent.privacy.group import GroupPolicy
from meteragent.stream.meters import lookalikes
from meteragent.stream.trail import read_back

NOT_NEEDED = object()
"""Of a check that has nothing to look at."""
MESSAGE = 300
"""Bytes of a message of a plug, with what the journal adds."""
PLANNED, MANY = 200_000, 100_000
"""Readings a second and core, and meters, as deploy/operations.md plans with them."""


def run(arguments: Namespace) -> Exit:
    """Check all there is, and end as the first problem asks for."""
    config = load(arguments.config, os.environ)
    policies = (*config.policy, *config.group)
    names = ", ".join(policy.name for policy in policies)
    sys.stdout.write(f"configuration: good, with policies {names}\n")
    for policy in policies:
        _warn(policy.name, doubts(policy.guarantee))
    of_gateway = bool(config.mqtt.topics)
    sys.stdout.write("" if of_gateway else _replays(config))
    sys.stdout.write(f"records: read by {native.way()}\n")
    sys.stdout.write(_journal(config) if of_gateway else _senders(config, arguments))
    online = OF_GATEWAY if of_gateway else ONLINE
    checks = OFFLINE if arguments.offline else (*OFFLINE, *online)
    codes = [_code(what, check, config) for what, check in checks]
    if arguments.strict:
        codes.append(_of_doubts(policies))
    return next(filter(None, codes), Exit.OK)


def _of_doubts(policies: Iterable[PolicySettings]) -> Exit:
    """Whether a policy is warned of. Of a preset's loads: no, it is for something else."""
    doubtful = [
        policy.name
        for policy in policies
        if doubts(policy.guarantee, of_loads=policy.preset is None)
    ]
    if not doubtful:
        return Exit.OK
    sys.stderr.write(f"meteragent: --strict: warned of {listed(doubtful)}\n")
    return Exit.CONFIGURATION


def _replays(config: Config) -> str:
    """What a restart takes, of each kind of work on the input."""
    inputs = [own for own in works(config).values() if own.kafka.input == config.kafka.input]
    return "".join(map(_replay, inputs))


def _replay(config: Config) -> str:
    """What a restart takes, of the policy of which it takes the most."""
    taken = [one.home if isinstance(one, GroupPolicy) else one for one in config.policies]
    policy = max(taken, key=lambda one: read_back(one) / one.interval)
    back = read_back(policy)
    readings = -(-back // policy.interval)
    seconds = readings * MANY // PLANNED
    return (
        f"a restart reads back at most {time_text(back)}: {readings:,} readings of a meter, and of "
        f"{MANY:,} meters in {time_text(seconds * 1000)} at {PLANNED:,} a second\n"
    )


def _senders(config: Config, arguments: Namespace) -> str:
    """Where readings are to come in Kafka."""
    if arguments.offline:
        return ""
    return (
        f"{config.kafka.input}: readings are taken from the partition that "
        f"{config.kafka.partitioner} puts their meter in, and from no other\n"
    )


def _journal(config: Config) -> str:
    """What the journal of a gateway has room for."""
    size = config.mqtt.journal_limit * 1_000_000 // MESSAGE
    back = max(map(read_back, config.policies), default=0)
    return (
        f"{config.mqtt.journal}: at most {config.mqtt.journal_limit} MB, which is about {size:,} "
        f"messages of {MESSAGE} bytes; those of {time_text(back)} must find room\n"
    )


def _gateway(config: Config) -> None:
    """What is installed, the disk, and the broker."""
    from meteragent.commands.gateway import refuse_unfit  # noqa: PLC0415 - the server takes time

    refuse_unfit(config)
    from meteragent.gateway import trial  # noqa: PLC0415 - an extra

    trial.try_places(config.mqtt)
    asyncio.run(trial.try_broker(config.mqtt))


def _topics(config: Config) -> None:
    """Of each kind of work."""
    for work, own in works(config).items():
        _topics_of(own, judged=work is not Work.HOMES)


def _topics_of(config: Config, *, judged: bool) -> None:
    """Connection, login, rights, topics and their settings; whose ledger it is, and known ids.

    A ledger that holds no accounts is `judged` by its owner alone, when the agent begins.
    """
    from meteragent.kafka import ledger_topic, topics  # noqa: PLC0415 - aiokafka is slow to load
    from meteragent.kafka.clients import Clients  # noqa: PLC0415

    message_decoder(config.mapping)
    clients = Clients(config.kafka)
    asyncio.run(topics.refuse_unfit(config, clients))
    told, warnings = asyncio.run(topics.lifetimes(clients))
    sys.stdout.writelines(f"{line}\n" for line in told)
    for topic, warning in warnings:
        _warn(topic, [warning])
    if not judged:
        return
    with suppress(KeyRefused):  # which is said already
        known = asyncio.run(ledger_topic.judged(config, config.agent.noise_key(), clients))
        if not config.agent.normalise_ids:
            _warn(config.kafka.ledger, advice.of_ids(lookalikes(known)))


def _registry(config: Config) -> object:
    """That it answers, lets us in and tells schemas that are read; nothing where it is not named.

    The schema of releases is registered, as the agent itself would do it.
    """
    if config.kafka.registry.url is None:
        return NOT_NEEDED
    from meteragent.kafka.subjects import judged, release_encoder  # noqa: PLC0415 - as above

    told = asyncio.run(judged(config, message_decoder(config.mapping)))
    sys.stdout.writelines(f"{line}\n" for line in told)
    asyncio.run(release_encoder(config))
    return None


def _secrets(config: Config) -> None:
    """That all can be read, and the status page be served with what it is given."""
    from meteragent.watch.fixed import fixed  # noqa: PLC0415 - the server takes its time too
    from meteragent.watch.web import credentials  # noqa: PLC0415

    refuse_unreadable(config)
    credentials(config.http)
    fixed(config.http)


Checks = tuple[tuple[str, Callable[[Config], object]], ...]

OFFLINE: Checks = (
    ("certificates and secrets", _secrets),
    ("noise key", lambda config: config.agent.noise_key()),
)
ONLINE: Checks = (("brokers and topics", _topics), ("schema registry", _registry))
"""What is checked, in this order; each raises what is wrong."""
OF_GATEWAY: Checks = (("broker and disk", _gateway),)


def _code(what: str, check: Callable[[Config], object], config: Config) -> Exit:
    try:
        if check(config) is NOT_NEEDED:
            return Exit.OK
    except MeterAgentError as error:
        return report(error)
    sys.stdout.write(f"{what}: good\n")
    return Exit.OK


def _warn(what: str, warnings: Iterable[str]) -> None:
    sys.stdout.writelines(f"{what}: warning: {warning}\n" for warning in warnings)
