"""The whole configuration."""

from dataclasses import replace
from functools import cached_property
from operator import attrgetter
from typing import Annotated, Literal

from pydantic import BeforeValidator, model_validator

from meteragent.config import keyfile
from meteragent.config.budget import Budget, left_to_the_account, shared_out
from meteragent.config.fields import (
    SEVERAL,
    Batch,
    Duration,
    Flag,
    FromEnvironment,
    Many,
    OwnerOnlyFile,
    Processes,
    Settings,
    SomeTime,
    found_by,
    refuse,
    setting,
)
from meteragent.config.group import GroupSettings, namesakes, reserve_of, reserved, unlike
from meteragent.config.input import Input
from meteragent.config.kafka import Kafka
from meteragent.config.mqtt import Mqtt, named_by_topics
from meteragent.config.policy import PolicySettings
from meteragent.config.secrets import once
from meteragent.config.tier import astray, outputs_of
from meteragent.config.watch import Http, Log
from meteragent.errors import ConfigRefused, InvalidSetting, KeyRefused
from meteragent.explain.guarantee import Guarantee
from meteragent.formats.mapping import Mapping
from meteragent.formats.quantity import refuse_other_units
from meteragent.privacy.entropy import NoiseKey
from meteragent.privacy.members import Reserve
from meteragent.privacy.policy import Policy
from meteragent.privacy.units import format_duration
from meteragent.stream.meters import Assigned, AssignedGroups, normal
from meteragent.stream.releases import tier_name


def _tables(name: str) -> BeforeValidator:
    def read(given: object) -> object:
        if not isinstance(given, list | tuple):
            raise InvalidSetting(name, "is not a list of tables", f"write [[{name}]]")
        return given

    return BeforeValidator(read)


_SHORTER = (
    ("agent.commit_interval", "agent.progress_deadline"),
    ("agent.commit_interval", "kafka.transaction_timeout"),
    ("agent.drain_deadline", "kafka.rebalance_timeout"),
)
"""Times of which the first must be shorter than the second."""


class AgentSettings(Settings):
    """How the agent works."""

    key_file: OwnerOnlyFile | None = setting(
        "Holds the noise key, readable by its owner alone; `meteragent key create` makes it.",
        '"noise.key"',
        default=None,
    )
    key: FromEnvironment | None = setting(
        "The 64 hexadecimal digits of the noise key, without a file.", '"…"', default=None
    )
    max_skew: Duration = setting(
        "How far a reading may lie in the future of its record, because one wrong clock must not "
        "close everybody's windows. Nor must this machine's: if it differs from the brokers' by "
        "more than that, and more than a second, no clock closes windows.",
        default="10s",
    )
    commit_interval: SomeTime = setting(
        "How often releases, ledger and position are committed together; `50ms` for low latency.",
        default="500ms",
    )
    max_batch: Batch = setting(
        "About how many records are worked on at once: whole batches, as senders made them, "
        "until there are this many.",
        default=15_000,
    )
    max_meters: Many = setting(
        "The most meters in a partition. Records of further ones are rejected, so that made-up "
        "ids cannot fill the memory.",
        default=1_000_000,
    )
    normalise_ids: Flag = setting(
        "Whether ids that differ only in case, width, normal form (NFKC) or surrounding spaces "
        "are one meter, with one budget. Releases and accounts then name it without these "
        "differences, and a policy's `match` is written without them. In Kafka, a meter's "
        "partition is that of its id without them too: let senders key by that.",
        "true",
        default=False,
    )
    processes: Processes = setting(SEVERAL, '"auto"', default=1)
    progress_deadline: SomeTime = setting(
        "An agent that makes no progress for longer than this counts as dead.", default="60s"
    )
    drain_deadline: SomeTime = setting(
        "How long a partition that is given up, or the whole agent when it ends, may take to "
        "commit.",
        default="20s",
    )

    def noise_key(self) -> NoiseKey:
        """The secret that noise is derived from."""
        if self.key is not None:
            return NoiseKey.from_hex(self.key.get_secret_value(), "METERAGENT__AGENT__KEY")
        if self.key_file is None:
            raise KeyRefused("agent.key_file", "is not set", 'write key_file = "noise.key"')
        return keyfile.load(self.key_file)

    @model_validator(mode="after")
    def _is_coherent(self) -> "AgentSettings":
        refuse(once(self, "key"))
        return self


class Config(Settings):
    """Everything that is set, once and for good."""

    agent: AgentSettings = setting("", "[agent]", default={})
    kafka: Kafka = setting("", "[kafka]", default={})
    mqtt: Mqtt = setting("", "[mqtt]", default={})
    input: Input = setting("", "[input]", default={})
    http: Http = setting("", "[http]", default={})
    log: Log = setting("", "[log]", default={})
    budget: Budget | None = setting("", "[budget]", default=None)
    policy: Annotated[tuple[PolicySettings, ...], _tables("policy")] = setting(
        "", "[[policy]]", default=()
    )
    group: Annotated[tuple[GroupSettings, ...], _tables("group")] = setting(
        "", "[[group]]", default=()
    )

    @cached_property
    def assigned(self) -> tuple[Assigned, ...]:
        """The policies by the prefix of the meters that they are for, the longest prefix first."""
        longest_first = sorted(self.policy, key=lambda p: len(p.match), reverse=True)
        of_groups = any(isinstance(p, GroupSettings) for p in longest_first)
        counts = self.input.kind == "register" and not of_groups
        return tuple(
            Assigned(p.match, p.name, p.policy, p.tiers, counts, p.pseudonyms)
            for p in longest_first
        )

    @cached_property
    def tiers(self) -> tuple[Assigned, ...]:
        """The tiers of these, as policies of their own."""
        return tuple(
            Assigned(one.prefix, tier_name(one.name, tier.tier.name), tier)
            for one in self.assigned
            for tier in one.tiers
            if tier.tier is not None
        )

    @cached_property
    def policies(self) -> tuple[Policy, ...]:
        """The policies alone, in the same order, and behind them those of their tiers."""
        return tuple(one.policy for one in (*self.assigned, *self.tiers))

    @cached_property
    def mapping(self) -> Mapping:
        """Where the input says what, and what it means."""
        tables = (*self.policy, *self.group)
        refuse_other_units(self.input.unit, {p.name: p.quantity for p in tables})
        found = self.input.mapping({p.name: p.interval for p in tables})
        registry = self.kafka.registry
        return replace(found, framing=registry.framing, ids=registry.ids)

    @cached_property
    def groups(self) -> tuple[AssignedGroups, ...]:
        """The policies of groups, by the prefix of the groups that they are for."""
        counts = self.input.kind == "register"
        return tuple(
            AssignedGroups(p.match, p.name, p.policy, p.tiers, of_registers=counts)
            for p in self.group
        )

    def with_groups_for_meters(self, kafka: Kafka) -> "Config":
        """The same for those who work on groups: all that is said of meters is said of these."""
        other = self.model_copy(update={"policy": self.group, "kafka": kafka})
        for known in ("assigned", "tiers", "policies", "guarantees"):
            other.__dict__.pop(known, None)
        return other

    @property
    def reserve(self) -> Reserve:
        """What each home may lose to groups. Precondition: there is a `[[group]]`."""
        return reserve_of(self.budget, self.group)

    def refuse_groups(self, problem: str, instead: str) -> None:
        """Refuse a `[[group]]` where groups are not released, or not looked after."""
        if self.group:
            raise ConfigRefused([InvalidSetting("group", problem, instead)])

    def refuse_tiers(self, where: str) -> None:
        """Refuse a `[[policy.tier]]` where tiers are not released."""
        if self.tiers:
            problem, instead = f"is not released {where}", "leave it out, and run `sanitize --tier`"
            raise ConfigRefused([InvalidSetting("tier", problem, instead)])

    @property
    def outputs(self) -> dict[str, str]:
        """Policy name -> the topic of its releases."""
        return outputs_of(self.policy, self.kafka.output)

    @cached_property
    def guarantees(self) -> dict[str, Guarantee]:
        """Policy id -> what it promises, with all names where several tables promise the same."""
        found: dict[str, Guarantee] = {}
        for policy in self.policy:
            own = policy.guarantee
            known = found.get(own.policy.id)
            found[own.policy.id] = known.called(f"{known.name}+{own.name}") if known else own
        return found

    @property
    def retention(self) -> int:
        """The least milliseconds that the input must be kept, for open panes to be rebuilt."""
        return max(p.due(p.panes.end(0)) - p.panes.start(0) for p in self.policies)

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, document: object) -> object:
        if not isinstance(document, dict):
            return document
        return left_to_the_account(named_by_topics(document))

    @model_validator(mode="after")
    def _is_coherent(self) -> "Config":
        refuse([*self._nothing(), *self._twins("policy"), *self._twins("group")])
        refuse(namesakes(self.policy, self.group))
        refuse([*self._astray(), *self._spelled_otherwise(), *self._too_long()])
        refuse(found_by(self._refuse_no_registry))
        found = found_by(lambda: self.mapping)
        refuse([InvalidSetting(f"input.{e.field}", e.problem, e.instead) for e in found])
        policies = shared_out(self.budget, self.policy) if self.budget else self.policy
        groups = reserved(self.budget, self.group)
        kafka = self.kafka.with_outputs(self.outputs.values())
        return self.model_copy(update={"policy": policies, "group": groups, "kafka": kafka})

    def _nothing(self) -> list[InvalidSetting]:
        if self.policy and self.group and self.budget is None:
            instead = "write one, of which homes reserve a part for groups"
            return [InvalidSetting("budget", "is missing beside [[policy]] and [[group]]", instead)]
        if self.policy or self.group:
            return [] if self.budget else unlike(self.group)
        return [InvalidSetting("policy", "is missing", "write [[policy]], or [[group]]")]

    def _refuse_no_registry(self) -> None:
        if self.input.written != "json":
            self.kafka.registry.refuse_absence("input.format")
        if self.kafka.output_format == "avro":
            self.kafka.registry.refuse_absence("kafka.output_format")
            self.kafka.registry.refuse_apicurio("kafka.output_format")

    def _twins(self, kind: Literal["policy", "group"]) -> list[InvalidSetting]:
        instead = {"name": "write another one", "match": "write another one, or a [budget]"}
        tables: tuple[PolicySettings, ...] = getattr(self, kind)
        return [
            InvalidSetting(f"{kind}[{i}].{field}", f"is that of {kind}[{j}] too", instead[field])
            for field in (("name", "match") if self.budget is None else ("name",))
            for i, one in enumerate(tables)
            for j, other in enumerate(tables[:i])
            if getattr(one, field) == getattr(other, field)
        ]

    def _astray(self) -> list[InvalidSetting]:
        """Releases that would go where other things are."""
        kafka = self.kafka
        own = {kafka.input, kafka.ledger, kafka.rejected, kafka.policies}
        beside = {kafka.groups, kafka.partials, kafka.homes_ledger, kafka.groups_ledger}
        of_groups = outputs_of(self.group, kafka.groups_output)
        found = [*astray("policy", self.policy, self.outputs, own)]
        if self.group:
            taken = own | beside | {*self.outputs.values()}
            found += astray("group", self.group, of_groups, taken)
        return found

    def _spelled_otherwise(self) -> list[InvalidSetting]:
        return [
            InvalidSetting(
                f"policy[{i}].match",
                "fits no id, as agent.normalise_ids leaves it",
                f'write "{normal(policy.match)}"',
            )
            for i, policy in enumerate(self.policy)
            if self.agent.normalise_ids and policy.match != normal(policy.match)
        ]

    def _too_long(self) -> list[InvalidSetting]:
        return [
            InvalidSetting(
                short,
                f"must be shorter than {long}, which is {format_duration(most)}",
                f'write for example "{format_duration(max(1, most // 4))}"',
            )
            for short, long in _SHORTER
            if attrgetter(short)(self) >= (most := attrgetter(long)(self))
        ]
