"""The kinds of work that an agent on Kafka does, each with a configuration of its own.

Meters are released as `[[policy]]` says. For `[[group]]` there are two kinds: one takes in readings
of homes and tells what they add to the sums of groups, the other takes in what is told, and
decides groups. Each has an input, a ledger and a consumer group, and knows nothing of the others.
"""

from enum import StrEnum

from meteragent.config.model import Config


class Work(StrEnum):
    """What is done with an input."""

    METERS = "meters"
    HOMES = "homes"
    GROUPS = "groups"


def works(config: Config) -> dict[Work, Config]:
    """What there is to be done, each with what it is configured with."""
    found = {}
    if config.policy:
        found[Work.METERS] = config
    if config.group:
        found[Work.HOMES] = config.with_groups_for_meters(config.kafka.of_homes())
        kafka, as_told = config.kafka.of_groups(), {"normalise_ids": False}
        outputs = config.with_groups_for_meters(kafka).outputs.values()
        own = config.with_groups_for_meters(kafka.with_outputs(outputs))
        names = own.agent.model_copy(update=as_told)  # of groups, as who is in them says it
        found[Work.GROUPS] = own.model_copy(update={"agent": names})
    return found
