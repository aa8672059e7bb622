"""Whether topics are as exactly-once releases need them: what is wrong, and what to set."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from meteragent.config import Config
from meteragent.config.kafka import Kafka
from meteragent.formats.encoder import Encoder
from meteragent.formats.forms import longest_release
from meteragent.privacy.ledger import Ledger
from meteragent.privacy.ledger_record import dump
from meteragent.privacy.units import format_duration
from meteragent.stream.fold_record import longest
from meteragent.stream.written import shapes

FOREVER = -1
NO_LIMIT = 2**31
AROUND_A_RECORD = 2**10
"""Bytes of a batch of one record that are not its value: its key, and what Kafka adds."""
STAMPED_BY = "message.timestamp.type"
SENDERS, BROKERS = "CreateTime", "LogAppendTime"
KEPT = "retention.ms"
_MOST = "max.message.bytes"
AHEAD = "message.timestamp.after.max.ms"
AHEAD_BY_DEFAULT = 3_600_000
"""Milliseconds; brokers before 3.6 know no such limit."""


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic as it stands."""

    partitions: int
    settings: Mapping[str, str]


def problems(config: Config, topics: Mapping[str, Topic]) -> list[str]:
    """Everything that is wrong with topics."""
    found = [
        *_partitions(config.kafka, topics),
        *_settings(config, topics),
        *_stamped_by_senders(config.kafka, topics),
    ]
    return [*missing(config.kafka, topics), *(_as_set(config.kafka, one) for one in found)]


def _as_set(kafka: Kafka, problem: str) -> str:
    """A problem under the name of the setting that the topic is set by."""
    stream, _, rest = problem.removeprefix("kafka.").partition(":")
    return f"kafka.{kafka.setting_of(stream)}:{rest}"


def missing(kafka: Kafka, topics: Mapping[str, Topic]) -> list[str]:
    """Those that do not exist."""
    return [_as_set(kafka, problem) for problem in _missing(kafka, topics)]


def _missing(kafka: Kafka, topics: Mapping[str, Topic]) -> list[str]:
    return [
        f"kafka.{stream}: topic {name} does not exist; run `meteragent topics create`"
        for stream, name in (
            ("input", kafka.input),
            *(("output", output) for output in kafka.outputs),
            ("ledger", kafka.ledger),
            ("rejected", kafka.rejected),
            ("policies", kafka.policies),
            *kafka.beside.items(),
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
        for stream, name in (
            *(("output", output) for output in kafka.outputs),
            ("rejected", kafka.rejected),
        )
        if source and name in topics and topics[name].partitions < source.partitions
    ]
    return problems


def _settings(config: Config, topics: Mapping[str, Topic]) -> list[str]:
    kafka = config.kafka
    problems = []
    for stream, name in (
        ("ledger", kafka.ledger),
        ("policies", kafka.policies),
        *((setting, topic) for setting, topic in kafka.beside.items() if setting == "groups"),
    ):
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
    problems += [*_too_small(config, topics), *_other_times(config, topics)]
    kept = int(settings.get(KEPT, FOREVER))
    if kept != FOREVER and kept < config.retention:
        problems.append(
            f"kafka.input: {kafka.input} keeps records for {format_duration(kept)}, open windows "
            f"need {format_duration(config.retention)}; raise retention.ms"
        )
    return problems


def _stamped_by_senders(kafka: Kafka, topics: Mapping[str, Topic]) -> Iterator[str]:
    """Topics whose records carry the senders' time, where the brokers' is needed."""
    stamped = {name for name, topic in topics.items() if topic.settings.get(STAMPED_BY) == SENDERS}
    if kafka.input in stamped and not kafka.trust_timestamps:
        yield (
            f"kafka.input: records of {kafka.input} carry their senders' time: one clock that is "
            f"ahead would close everybody's windows; {_stamp(kafka, kafka.input)}, or write "
            "kafka.trust_timestamps = true"
        )
    if kafka.ledger in stamped:
        yield unstamped_ledger(kafka)


def unstamped_ledger(kafka: Kafka) -> str:
    """What is wrong with a ledger whose records carry the senders' time."""
    return (
        f"kafka.ledger: records of {kafka.ledger} carry their senders' time: agents would not "
        f"learn the brokers', by which windows close; {_stamp(kafka, kafka.ledger)}"
    )


def _stamp(kafka: Kafka, topic: str) -> str:
    return (
        f"run `kafka-configs.sh --bootstrap-server {kafka.bootstrap_servers[0]} --alter --topic "
        f"{topic} --add-config {STAMPED_BY}={BROKERS}`"
    )


def _other_times(config: Config, topics: Mapping[str, Topic]) -> Iterator[str]:
    """Where releases could not carry the ends of their windows as their time."""
    for output in config.kafka.outputs:
        settings = topics[output].settings if output in topics else {}
        if settings.get(STAMPED_BY) == BROKERS:
            yield (
                f"kafka.output: records of {output} would carry the time of writing, not the end "
                f"of their window, and so tell when meters were heard; set {STAMPED_BY}={SENDERS}"
            )
        if int(settings.get(AHEAD, config.agent.max_skew)) < config.agent.max_skew:
            yield (
                f"kafka.output: {output} refuses records that are {settings[AHEAD]} ms ahead, "
                f"windows may end agent.max_skew ahead; raise {AHEAD}"
            )


def _too_small(config: Config, topics: Mapping[str, Topic]) -> Iterator[str]:
    """Topics that would not take the largest record that may have to go there.

    One that is refused would be made again, and refused again, for ever.
    """
    kafka = config.kafka
    encoder = Encoder()
    for policy in (*config.assigned, *config.tiers):
        release = longest_release(encoder, policy.policy)
        account = _account_bytes(config, policy.prefix)
        for stream, name, size, what in (
            ("output", config.outputs[policy.name], release, "a release"),
            ("ledger", kafka.ledger, account, "an account"),
        ):
            most = int(topics[name].settings.get(_MOST, NO_LIMIT)) if name in topics else NO_LIMIT
            if size + AROUND_A_RECORD > most:
                yield (
                    f"kafka.{stream}: {name} takes records of {most} bytes, {what} of "
                    f"policy {policy.name} may have {size + AROUND_A_RECORD}; raise {_MOST}, or "
                    "ask for less of a window"
                )


def _account_bytes(config: Config, prefix: str) -> int:
    """How long the ledger record is of meters whose policies are for this prefix."""
    its = [one for one in config.assigned if one.prefix == prefix]
    ledgers = [Ledger(one.share.terms, 1) for one in its]
    [account] = dump([one.share for one in its], ledgers, np.array([0]))
    return len(account) + longest([shape for one in its for shape in shapes(one)])


def lasting(kafka: Kafka, topics: Mapping[str, Topic]) -> dict[str, int]:
    """Output -> for how many milliseconds it keeps releases, where it does not for ever."""
    deleting = (
        (name, int(topics[name].settings.get(KEPT, FOREVER)))
        for name in kafka.outputs
        if "delete" in topics[name].settings.get("cleanup.policy", "delete")
    )
    return {name: kept for name, kept in deleting if kept != FOREVER}


def of_lifetimes(kafka: Kafka, topics: Mapping[str, Topic]) -> Iterator[str]:
    """For how long releases can be read."""
    for name, kept in lasting(kafka, topics).items():
        yield (
            f"{name}: releases are kept for {format_duration(kept)} from the end of their windows; "
            f"what is released of older ones, as in a replay, is deleted at once: raise {KEPT} "
            "before"
        )


def short_lived(kafka: Kafka, topics: Mapping[str, Topic]) -> Iterator[tuple[str, str]]:
    """Topic, and what of it may be deleted before anybody could read it."""
    source = int(topics[kafka.input].settings.get(KEPT, FOREVER))
    readings = "for ever" if source == FOREVER else f"for {format_duration(source)}"
    output = min(lasting(kafka, topics).values(), default=FOREVER)
    if output != FOREVER and not FOREVER < source <= output:
        problem = (
            f"releases are kept for {format_duration(output)} from the end of their windows, "
            f"readings {readings}: what is released of older ones, after a pause or in a replay, "
            f"is deleted at once; raise {KEPT}"
        )
        yield kafka.output, problem
    partials = kafka.beside.get("partials")
    told = int(topics[partials].settings.get(KEPT, FOREVER)) if partials else FOREVER
    if partials and told != FOREVER and not FOREVER < source <= told:
        problem = (
            f"what is told of homes is kept for {format_duration(told)}, readings {readings}: "
            f"groups that stand still for longer lose their windows; raise {KEPT}"
        )
        yield partials, problem
