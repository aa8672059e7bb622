"""Which meter an id names, and which policies are that meter's."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar
from unicodedata import normalize

from meteragent.privacy.entropy import NoiseKey, pseudonym
from meteragent.privacy.group import GroupPolicy
from meteragent.privacy.policy import Policy
from meteragent.privacy.terms import Share


@dataclass(frozen=True, slots=True)
class Assigned:
    """A policy by the name that people call it, for the meters whose id begins with `prefix`."""

    prefix: str
    name: str
    policy: Policy
    tiers: tuple[Policy, ...] = ()
    """Noisier copies of its releases, each of that before it, and the first of the policy's."""
    counts: bool = False
    """Whether its readings are those of registers: see `counters`."""
    pseudonyms: bool = False
    """Whether releases call meters by pseudonyms."""

    def called(self, key: NoiseKey) -> list[Callable[[str], str]]:
        """What releases call meters, by their ids; and what each of their copies does."""
        if not self.pseudonyms:
            return [str] * (1 + len(self.tiers))
        policies = (self.policy, *self.tiers)
        return [partial(pseudonym, key, policy.id, self.name) for policy in policies]

    @property
    def share(self) -> Share:
        """Its part of the accounts of these meters."""
        return Share(self.name, self.policy.terms, self.policy.presence == "private")

    def with_idle(self, idle: int) -> "Assigned":
        """The same, for windows that wait so long for silent meters."""
        tiers = tuple(replace(tier, idle=idle) for tier in self.tiers)
        return replace(self, policy=replace(self.policy, idle=idle), tiers=tiers)


@dataclass(frozen=True, slots=True)
class AssignedGroups(Assigned):
    """The same for the groups whose id begins with `prefix`; of them nobody reads registers."""

    policy: GroupPolicy
    of_registers: bool = False
    """Whether readings of their homes are those of registers."""


Of = TypeVar("Of", bound=Assigned)


def by_prefix(assigned: Sequence[Of]) -> list[list[Of]]:
    """The policies of each prefix, the longest one first."""
    groups: dict[str, list[Of]] = {}
    for one in sorted(assigned, key=lambda its: -len(its.prefix)):
        groups.setdefault(one.prefix, []).append(one)
    return [*groups.values()]


def longest_prefix(prefixes: Sequence[str], meter: str) -> int | None:
    """The place of the longest prefix that a meter's id begins with, if it begins with any."""
    fitting = [place for place, prefix in enumerate(prefixes) if meter.startswith(prefix)]
    return max(fitting, key=lambda place: len(prefixes[place]), default=None)


def normal(meter: str) -> str:
    """What an id is without its case, its width, its normal form and spaces around it.

    Unicode's NFKC, then case folding, then NFKC again, then no white space at either end; an id
    that is nothing else stays what it is. Postcondition: what is normal stays as it is.
    """
    return normalize("NFKC", normalize("NFKC", meter).casefold()).strip() or meter


def lookalikes(meters: Iterable[str]) -> int:
    """How many of these ids are told from another of them by their spelling alone."""
    spellings = set(meters)
    return len(spellings) - len(set(map(normal, spellings)))
