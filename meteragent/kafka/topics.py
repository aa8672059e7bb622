"""What must exist in Kafka for releases to be exactly once: made, and checked.

The ledger has the partitions of the input: a meter's account lies beside its readings, and
moves with them from instance to instance. Releases and rejects are written to partitions of
the same number, so that one transaction is about one partition everywhere.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import numpy as np
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError, TopicAlreadyExistsError, for_code

from meteragent.config import Config
from meteragent.config.kafka import Kafka
from meteragent.errors import BrokerRefused, BrokerUnreachable, TopicsUnfit
from meteragent.formats.encoder import Encoder
from meteragent.formats.forms import longest_release
from meteragent.kafka import rights
from meteragent.kafka.clients import Clients
from meteragent.privacy.ledger import Ledger
from meteragent.privacy.ledger_record import dump
from meteragent.privacy.units import format_duration

FOREVER = -1
NO_LIMIT = 2**31
AROUND_A_RECORD = 2**10
"""Bytes of a batch of one record that are not its value: its key, and what Kafka adds."""
_MOST = "max.message.bytes"
_STAMPED_BY = "message.timestamp.type"
SOON = 100
COMPACTED = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.1"}


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic as it stands."""

    partitions: int
    settings: Mapping[str, str]


@asynccontextmanager
async def admin(clients: Clients) -> AsyncIterator[AIOKafkaAdminClient]:
    """An administrator's connection; refusals say why."""
    await clients.probe()
    client = clients.admin()
    try:
        await client.start()
        yield client
    except TimeoutError as error:
        raise BrokerUnreachable(clients.kafka.bootstrap_servers[0], "it takes too long") from error
    except KafkaError as error:
        raise _refused(clients.kafka, "the cluster", type(error)) from error
    finally:
        await client.close()


async def create(config: Config, clients: Clients, partitions: int, replication: int) -> list[str]:
    """Make the topics that do not exist; answer with their names."""
    kafka = config.kafka
    input_settings = {
        # When a record was written is the broker's word, not the sender's: a reading from
        # the future is told by it, and retention of a replay counts from today.
        _STAMPED_BY: "LogAppendTime",
        "retention.ms": str(max(7 * 86_400_000, 4 * config.retention)),
    }
    wanted = [
        NewTopic(kafka.input, partitions, replication, topic_configs=input_settings),
        NewTopic(kafka.output, partitions, replication),
        NewTopic(kafka.ledger, partitions, replication, topic_configs=COMPACTED),
        NewTopic(kafka.rejected, partitions, replication),
        NewTopic(kafka.policies, 1, replication, topic_configs=COMPACTED),
    ]
    made = []
    async with admin(clients) as client:
        for topic in wanted:
            response = await client.create_topics([topic])
            ((name, code, *_),) = response.topic_errors
            error = for_code(code)
            if error is not TopicAlreadyExistsError:
                if code:
                    raise _refused(kafka, f"topic {name}", error)
                made.append(name)
        for _ in range(SOON):
            if await _all_seen(client, kafka):
                break
            await asyncio.sleep(0.1)  # brokers learn of new topics one after the other
    return made


async def _all_seen(client: AIOKafkaAdminClient, kafka: Kafka) -> bool:
    """Whether every topic is there, for the broker that happens to be asked."""
    try:
        return not _missing(kafka, await describe(client, kafka))
    except BrokerUnreachable:  # it knows some and not yet others
        return False


async def refuse_unfit(config: Config, clients: Clients) -> int:
    """Refuse topics that do not allow what is promised; answer with the input's partitions."""
    async with admin(clients) as client:
        await rights.refuse_missing(clients, client)
        topics = await describe(client, config.kafka)
    problems = [
        *_missing(config.kafka, topics),
        *_partitions(config.kafka, topics),
        *_settings(config, topics),
    ]
    if problems:
        raise TopicsUnfit(problems)
    return topics[config.kafka.input].partitions


async def describe(client: AIOKafkaAdminClient, kafka: Kafka) -> dict[str, Topic]:
    """The topics of the configuration, as far as they exist."""
    names = [kafka.input, kafka.output, kafka.ledger, kafka.rejected, kafka.policies]
    described = await client.describe_topics(names)
    partitions = {}
    for topic in described:
        error = for_code(topic["error_code"])
        if topic["error_code"] == 0:
            partitions[topic["topic"]] = len(topic["partitions"])
        elif error.__name__ == "TopicAuthorizationFailedError":
            raise _refused(kafka, f"topic {topic['topic']}", error)
    resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in partitions]
    settings: dict[str, dict[str, str]] = {name: {} for name in partitions}
    for response in await client.describe_configs(resources) if resources else []:
        for code, _, _, name, entries in response.resources:
            if code:
                raise _refused(kafka, f"the settings of topic {name}", for_code(code))
            settings[name] = {entry[0]: entry[1] for entry in entries}
    return {name: Topic(partitions[name], settings[name]) for name in partitions}


def _missing(kafka: Kafka, topics: Mapping[str, Topic]) -> list[str]:
    return [
        f"kafka.{stream}: topic {name} does not exist; run `meteragent topics create`"
        for stream, name in (
            ("input", kafka.input),
            ("output", kafka.output),
            ("ledger", kafka.ledger),
            ("rejected", kafka.rejected),
            ("policies", kafka.policies),
        )
        if name not in topics
    ]


def _partitions(kafka: Kafka, topics: Mapping[str, Topic]) -> list[str]:
    source, ledger = topics.get(kafka.input), topics.get(kafka.ledger)
    problems = []
    if source and ledger and source.partitions != ledger.partitions:
        problems.append(
            f"kafka.ledger: {kafka.ledger} has {ledger.partitions} partitions, {kafka.input} has "
            f"{source.partitions}: accounts would not be found; run `meteragent ledger migrate`"
        )
    problems += [
        f"kafka.{stream}: {name} has {topics[name].partitions} partitions, {kafka.input} has "
        f"{source.partitions}; give it as many"
        for stream, name in (("output", kafka.output), ("rejected", kafka.rejected))
        if source and name in topics and topics[name].partitions < source.partitions
    ]
    return problems


def _settings(config: Config, topics: Mapping[str, Topic]) -> list[str]:
    kafka = config.kafka
    problems = []
    for stream, name in (("ledger", kafka.ledger), ("policies", kafka.policies)):
        policy = topics[name].settings.get("cleanup.policy") if name in topics else None
        if policy not in {None, "compact"}:
            problems.append(
                f"kafka.{stream}: {name} has cleanup.policy={policy}: what is in it would be "
                "deleted; set cleanup.policy=compact"
            )
    settings = topics[kafka.input].settings if kafka.input in topics else {}
    if "compact" in settings.get("cleanup.policy", ""):
        problems.append(
            f"kafka.input: {kafka.input} is compacted: readings would vanish; set "
            "cleanup.policy=delete"
        )
    if settings.get(_STAMPED_BY) == "CreateTime" and not kafka.trust_timestamps:
        problems.append(
            f"kafka.input: records of {kafka.input} carry their senders' time: one clock that is "
            f"ahead would close everybody's windows; set {_STAMPED_BY}=LogAppendTime, or write "
            "kafka.trust_timestamps = true"
        )
    problems += [*_too_small(config, topics)]
    kept = int(settings.get("retention.ms", FOREVER))
    if kept != FOREVER and kept < config.retention:
        problems.append(
            f"kafka.input: {kafka.input} keeps records for {format_duration(kept)}, open windows "
            f"need {format_duration(config.retention)}; raise retention.ms"
        )
    return problems


def _too_small(config: Config, topics: Mapping[str, Topic]) -> Iterator[str]:
    """Topics that would not take the largest record that may have to go there.

    One that is refused would be made again, and refused again, for ever.
    """
    kafka = config.kafka
    encoder = Encoder()
    for policy in config.policy:
        release = longest_release(encoder, policy.policy)
        account = max(map(len, dump(Ledger(policy.policy.terms, 1), np.array([0]))))
        for stream, name, size, what in (
            ("output", kafka.output, release, "a release"),
            ("ledger", kafka.ledger, account, "an account"),
        ):
            most = int(topics[name].settings.get(_MOST, NO_LIMIT)) if name in topics else NO_LIMIT
            if size + AROUND_A_RECORD > most:
                yield (
                    f"kafka.{stream}: {name} takes records of {most} bytes, {what} of "
                    f"policy {policy.name} may have {size + AROUND_A_RECORD}; raise {_MOST}, or "
                    "ask for less of a window"
                )


def _refused(kafka: Kafka, what: str, error: type[KafkaError]) -> Exception:
    server = kafka.bootstrap_servers[0]
    user = kafka.security.username or "this user"
    if "Authorization" in error.__name__:
        return BrokerRefused(
            server,
            f"no right to {what} ({error.__name__})",
            f"give {user} the rights that deploy/agent.toml lists",
        )
    if error.retriable:
        return BrokerUnreachable(server, error.__name__)
    return TopicsUnfit([f"{what}: {error.__name__}"])
