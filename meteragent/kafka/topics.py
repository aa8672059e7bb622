"""What must exist in Kafka for releases to be exactly once: made, described, and judged.

The ledger has the partitions of the input: a meter's account lies beside its readings, and
moves with them from instance to instance. Releases and rejects are written to partitions of
the same number, so that one transaction is about one partition everywhere.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress

from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError, TopicAlreadyExistsError, for_code

from meteragent.config import Config
from meteragent.config.kafka import Kafka
from meteragent.errors import BrokerRefused, BrokerUnreachable, LedgerLost, TopicsUnfit
from meteragent.kafka import fitness, rights
from meteragent.kafka.clients import Clients
from meteragent.kafka.fitness import (
    AHEAD,
    AHEAD_BY_DEFAULT,
    BROKERS,
    KEPT,
    SENDERS,
    STAMPED_BY,
    Topic,
)
from meteragent.kafka.restore import committed

SOON = 100
COMPACTED = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.1"}
LEDGER = {
    **COMPACTED,
    STAMPED_BY: BROKERS,
    "segment.ms": "3600000",  # the one at work is not compacted, and agents ask for the time in it
}

MEMBERS = {**COMPACTED, STAMPED_BY: BROKERS}
"""When a record was written is the brokers' word: what it changes must begin a lead later."""


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
    kept = max(7 * 86_400_000, 4 * config.retention)
    input_settings = {
        # When a record was written is the broker's word, not the sender's: a reading from
        # the future is told by it, and retention of a replay counts from today.
        STAMPED_BY: BROKERS,
        KEPT: str(kept),
    }
    output_settings = {
        # A release is as old as its window: when it was written would tell when meters were
        # heard. So it is kept longer than what it may be made of.
        STAMPED_BY: SENDERS,
        KEPT: str(2 * kept),
    }
    if config.agent.max_skew > AHEAD_BY_DEFAULT:
        output_settings[AHEAD] = str(config.agent.max_skew)
    wanted = [
        NewTopic(kafka.input, partitions, replication, topic_configs=input_settings),
        *(
            NewTopic(output, partitions, replication, topic_configs=output_settings)
            for output in kafka.outputs
        ),
        NewTopic(kafka.ledger, partitions, replication, topic_configs=LEDGER),
        NewTopic(kafka.rejected, partitions, replication),
        NewTopic(kafka.policies, 1, replication, topic_configs=COMPACTED),
        *_beside(kafka, partitions, replication, input_settings),
    ]
    async with admin(clients) as client:
        await _refuse_lost(client, kafka, await describe(client, kafka))
        made = [topic.name for topic in wanted if await _create(client, kafka, topic)]
        for _ in range(SOON):
            if await _all_seen(client, kafka):
                break
            await asyncio.sleep(0.1)  # brokers learn of new topics one after the other
    return made


def _beside(
    kafka: Kafka, partitions: int, replication: int, settings: dict[str, str]
) -> Iterator[NewTopic]:
    """What is read or written besides, by those who work on groups."""
    if "groups" in kafka.beside:
        yield NewTopic(kafka.groups, 1, replication, topic_configs=MEMBERS)
    if "partials" in kafka.beside:
        yield NewTopic(kafka.partials, partitions, replication, topic_configs=settings)


async def _create(client: AIOKafkaAdminClient, kafka: Kafka, topic: NewTopic) -> bool:
    """Make a topic, if it is not there: answer whether it was not."""
    response = await client.create_topics([topic])
    ((name, code, *_),) = response.topic_errors
    error = for_code(code)
    if code and error is not TopicAlreadyExistsError:
        raise _refused(kafka, f"topic {name}", error)
    return not code


async def make_ledger(client: AIOKafkaAdminClient, kafka: Kafka, partitions: int) -> None:
    """Make the ledger alone, if it is not there, with as many replicas as the input has."""
    ((described,),) = [await client.describe_topics([kafka.input])]
    replicas = len(described["partitions"][0]["replicas"])
    topic = NewTopic(kafka.ledger, partitions, replicas, topic_configs=LEDGER)
    if await _create(client, kafka, topic):
        for _ in range(SOON):
            if kafka.ledger in await describe(client, kafka):
                break
            await asyncio.sleep(0.1)


async def _refuse_lost(
    client: AIOKafkaAdminClient, kafka: Kafka, topics: Mapping[str, Topic]
) -> None:
    """Where the group has come some way, a ledger that is not there is lost, and not to be made."""
    if kafka.ledger in topics or kafka.input not in topics:
        return
    async with asyncio.timeout(kafka.request_timeout / 1000):
        while True:
            with suppress(*rights.SOON):
                found = await committed(client, kafka, topics[kafka.input].partitions)
                break
            await asyncio.sleep(0.1)
    if any(one.offset >= 0 for one in found.values()):
        raise LedgerLost(kafka.ledger, f"does not exist, and {kafka.group} was at work with it")


async def refuse_missing(client: AIOKafkaAdminClient, kafka: Kafka) -> None:
    """Refuse to go on where a topic is missing, and a ledger that is lost above all."""
    topics = await describe(client, kafka)
    await _refuse_lost(client, kafka, topics)
    if missing := fitness.missing(kafka, topics):
        raise TopicsUnfit(missing)


async def refuse_no_members(config: Config, clients: Clients) -> None:
    """Refuse to go on where there is no topic that says who is in which group."""
    async with admin(clients) as client:
        [described] = await client.describe_topics([config.kafka.groups])
    if described["error_code"]:
        problem = f"kafka.groups: topic {config.kafka.groups} does not exist; run "
        raise TopicsUnfit([f"{problem}`meteragent topics create`"])


def partitions_of_input(kafka: Kafka, topics: Mapping[str, Topic]) -> int:
    """How many it has."""
    if kafka.input not in topics:
        raise TopicsUnfit(fitness.missing(kafka, {**topics, kafka.ledger: Topic(0, {})}))
    return topics[kafka.input].partitions


async def partitions_of(client: AIOKafkaAdminClient, topic: str) -> int:
    """How many a topic has that is there."""
    [described] = await client.describe_topics([topic])
    return len(described["partitions"])


async def _all_seen(client: AIOKafkaAdminClient, kafka: Kafka) -> bool:
    """Whether every topic is there, for the broker that happens to be asked."""
    try:
        return not fitness.missing(kafka, await describe(client, kafka))
    except BrokerUnreachable:  # it knows some and not yet others
        return False


async def refuse_unfit(config: Config, clients: Clients) -> int:
    """Refuse topics that do not allow what is promised; answer with the input's partitions."""
    async with admin(clients) as client:
        await rights.refuse_missing(clients, client)
        topics = await describe(client, config.kafka)
        await _refuse_lost(client, config.kafka, topics)
    problems = fitness.problems(config, topics)
    if problems:
        raise TopicsUnfit(problems)
    return topics[config.kafka.input].partitions


async def describe(client: AIOKafkaAdminClient, kafka: Kafka) -> dict[str, Topic]:
    """The topics of the configuration, as far as they exist."""
    names = [kafka.input, *kafka.outputs, kafka.ledger, kafka.rejected, kafka.policies]
    names += kafka.beside.values()
    described = await client.describe_topics(names)
    partitions = {}
    for topic in described:
        error = for_code(topic["error_code"])
        if topic["error_code"] == 0:
            partitions[topic["topic"]] = len(topic["partitions"])
        elif error.__name__ == "TopicAuthorizationFailedError":
            raise _refused(kafka, f"topic {topic['topic']}", error)
    settings = await _settings(client, kafka, list(partitions))
    return {name: Topic(partitions[name], settings[name]) for name in partitions}


async def _settings(
    client: AIOKafkaAdminClient, kafka: Kafka, names: list[str]
) -> dict[str, dict[str, str]]:
    settings: dict[str, dict[str, str]] = {name: {} for name in names}
    resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
    for response in await client.describe_configs(resources) if resources else []:
        for code, _, _, name, entries in response.resources:
            if code:
                raise _refused(kafka, f"the settings of topic {name}", for_code(code))
            settings[name] = {entry[0]: entry[1] for entry in entries}
    return settings


async def lifetimes(clients: Clients) -> tuple[list[str], list[tuple[str, str]]]:
    """For how long releases can be read, and which topics delete what is still needed, and how."""
    async with admin(clients) as client:
        found = await describe(client, clients.kafka)
    told = fitness.of_lifetimes(clients.kafka, found)
    return [*told], [*fitness.short_lived(clients.kafka, found)]


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
