"""Whose a ledger is: what its partitions, and the positions beside them, say of who writes them.

Every partition of the ledger has one record that is no account, under a key that no meter can
have (ids hold no control characters): its *owner*. It is written in the partition's
own transactions, as JSON, and kept by compaction. Every position that is committed carries a
*bond*: which ledger it was committed with, how far that ledger went then, and who is at work. So
a ledger that was lost is not taken for one that is empty, and, as positions are read in one
request, whoever begins knows at once who else is there.

The *generation* of a configuration settles which of two is newer: see `Generation`.
"""

import json
import secrets
from dataclasses import dataclass, field, replace
from hashlib import blake2b

from meteragent.config import Config
from meteragent.errors import LedgerDamaged
from meteragent.privacy.entropy import NoiseKey

OWNER = b"\0owner"
KEY = "noise key"
Difference = tuple[str, str, str]
"""(setting, what it is there, what it is here)"""
MOST_SUPERSEDED = 8
"""Configurations that are remembered as those that were left."""
_VERSION = 1
_PLAIN = {_VERSION: ("ledger", "group", "input", "partitioner", "key")}
_DIGEST_BYTES = 8


@dataclass(frozen=True, slots=True, order=True)
class Generation:
    """A configuration among those that a group had: by its number, and what it supersedes.

    A configuration that is not known takes the next number; one that was superseded never does
    so by itself, or an old instance that is started again would take over from a new one. Two that
    took the same number at the same time are told apart by their digests.
    """

    number: int
    digest: str
    superseded: tuple[str, ...] = field(default=(), compare=False)
    """The latest first."""

    def followed_by(self, digest: str) -> "Generation":
        """What an unknown configuration makes of itself."""
        return Generation(self.number + 1, digest).over(self)

    def over(self, *others: "Generation") -> "Generation":
        """The same, knowing that it supersedes these, and whatever they superseded."""
        met = (self, *sorted(others, reverse=True))
        left = dict.fromkeys(digest for one in met for digest in (one.digest, *one.superseded))
        left.pop(self.digest)
        return replace(self, superseded=tuple(left)[:MOST_SUPERSEDED])


@dataclass(frozen=True, slots=True)
class Layout:
    """Over how many partitions accounts are spread; while they are moved, over how many soon."""

    partitions: int
    moving_to: int | None = None

    def __str__(self) -> str:
        return str(self.partitions) + ("" if self.moving_to is None else f">{self.moving_to}")

    @classmethod
    def read(cls, text: str) -> "Layout":
        """As it was written."""
        now, *soon = map(int, text.split(">"))
        return cls(now, *soon)


@dataclass(frozen=True, slots=True)
class Owner:
    """Who writes a partition of a ledger."""

    ledger: str
    """The name of this partition, drawn when it was first owned."""
    group: str
    input: str
    partitioner: str
    key: str
    """The noise key's fingerprint."""
    layout: Layout
    generation: Generation

    def record(self) -> bytes:
        """As it is kept."""
        return json.dumps(
            {
                "version": _VERSION,
                "ledger": self.ledger,
                "group": self.group,
                "input": self.input,
                "partitioner": self.partitioner,
                "key": self.key,
                "layout": str(self.layout),
                "generation": self.generation.number,
                "configuration": self.generation.digest,
                "superseded": self.generation.superseded,
            },
            separators=(",", ":"),
        ).encode()

    @classmethod
    def read(cls, record: bytes) -> "Owner":
        """As it was kept."""
        try:
            found = json.loads(record)
            names = _PLAIN[found["version"]]
            left = tuple(found["superseded"])
            generation = Generation(found["generation"], found["configuration"], left)
            layout = Layout.read(found["layout"])
            return cls(**{n: found[n] for n in names}, layout=layout, generation=generation)
        except (ValueError, KeyError, TypeError):
            raise LedgerDamaged(
                "its owner is written in a way that this version does not know"
            ) from None


@dataclass(frozen=True, slots=True)
class Bond:
    """What ties a committed position to its ledger, and to those who commit."""

    ledger: str
    end: int
    """One past the last record that is known to be in the ledger."""
    key: str
    layout: Layout
    generation: Generation

    def __str__(self) -> str:
        g = self.generation
        left = ",".join(g.superseded)
        return f"{self.ledger}:{self.end}:{self.key}:{self.layout}:{g.number}:{g.digest}:{left}"

    @classmethod
    def read(cls, text: str) -> "Bond":
        """As it was written; ValueError if it was not."""
        ledger, end, key, layout, number, digest, left = text.split(":")
        superseded = tuple(left.split(",")) if left else ()
        generation = Generation(int(number), digest, superseded)
        return cls(ledger, int(end), key, Layout.read(layout), generation)


@dataclass(frozen=True, slots=True)
class Claim:
    """Who we are, as it stands in an owner's record."""

    group: str
    input: str
    partitioner: str
    key: str
    partitions: int
    digest: str

    @classmethod
    def of(cls, config: Config, key: NoiseKey, partitions: int) -> "Claim":
        """With this configuration and key, on an input of so many partitions."""
        kafka = config.kafka
        return cls(
            kafka.group, kafka.input, kafka.partitioner, key.fingerprint, partitions, digest(config)
        )

    def owner(self, generation: Generation, known: Owner | None) -> Owner:
        """Our record, of a partition that has its name already, or gets one."""
        return Owner(
            known.ledger if known else secrets.token_hex(_DIGEST_BYTES),
            self.group,
            self.input,
            self.partitioner,
            self.key,
            Layout(self.partitions),
            generation,
        )

    def others(self, owner: Owner) -> list[Difference]:
        """What makes an owner somebody else."""
        return [
            (setting, there, here)
            for setting, there, here in (
                ("kafka.group", owner.group, self.group),
                ("kafka.input", owner.input, self.input),
                (KEY, owner.key, self.key),
            )
            if there != here
        ]


def bond(owner: Owner, end: int) -> Bond:
    """With a ledger of this owner that goes so far."""
    return Bond(owner.ledger, end, owner.key, owner.layout, owner.generation)


def farther(known: Bond, end: int) -> Bond:
    """The same, now that the ledger is known to go so far."""
    return replace(known, end=max(known.end, end))


def digest(config: Config) -> str:
    """Of what instances must agree on, or a window would be released in two ways."""
    matter = {
        "policies": [
            [one.prefix, one.name, one.policy.id, config.outputs[one.name]]
            for one in (*config.assigned, *config.tiers)
        ],
        "normalise_ids": config.agent.normalise_ids,
        "max_skew": config.agent.max_skew,
        "partitioner": config.kafka.partitioner,
        "revision": config.kafka.revision,
    }
    text = json.dumps(matter, sort_keys=True).encode()
    return blake2b(text, digest_size=_DIGEST_BYTES).hexdigest()
