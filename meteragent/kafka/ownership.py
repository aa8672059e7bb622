"""Whether a ledger is ours to go on with: judged when a group is joined, and at every restore.

* The ledger that a position was committed with must still be there, and whole: `LedgerLost`.
* It must be of this group, this input and this noise key: `LedgerOfAnother`.
* Accounts must lie as many partitions apart as the input has now: `LedgerMoving`, `TopicsUnfit`.
* Nobody may be at work with a newer configuration: `Superseded`. An instance keeps the generation
  that it took when it began, and leaves when it meets a newer one.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from meteragent.config import Config
from meteragent.config.kafka import Kafka
from meteragent.errors import (
    AccountsAstray,
    LedgerDamaged,
    LedgerLost,
    LedgerMoving,
    LedgerOfAnother,
    MeterAgentError,
    Superseded,
    TopicsUnfit,
)
from meteragent.kafka import restore
from meteragent.kafka.owner import KEY, OWNER, Bond, Claim, Difference, Generation, Layout, Owner
from meteragent.kafka.restore import Kept
from meteragent.privacy.billing import load
from meteragent.privacy.entropy import NoiseKey

LOOK_SECONDS = 5.0
NOT_OURS = (LedgerLost, LedgerOfAnother, LedgerMoving, AccountsAstray, Superseded, TopicsUnfit)
"""What one partition finds, and all must heed."""


class Ownership:
    """What an instance is, from its start to its end, among all that write a ledger."""

    def __init__(self, config: Config, key: NoiseKey) -> None:
        self._config = config
        self._key = key
        self._generation: Generation | None = None

    def claim(self, partitions: int) -> Claim:
        """Who we are, on an input of so many partitions."""
        return Claim.of(self._config, self._key, partitions)

    def take(
        self, claim: Claim, partition: int, kept: Kept, bonds: dict[int, Bond | None]
    ) -> Owner:
        """Our record of a partition of the ledger, if it is ours to go on with."""
        ledger = self._config.kafka.ledger
        refuse_lost(ledger, partition, kept, bonds[partition])
        known = owner_of(kept)
        if known is not None:
            for difference in claim.others(known):
                raise another(ledger, difference)
            refuse_layout(self._config.kafka, claim.partitions, known.layout)
        self.refuse_others(claim, bonds.values(), *([known.generation] if known else []))
        self._generation = self._generation or Generation(1, claim.digest)
        return claim.owner(self._generation, known)

    def refuse_others(
        self, claim: Claim, bonds: Iterable[Bond | None], *generations: Generation
    ) -> None:
        """Refuse to work beside those who committed these positions, if they are not like us."""
        theirs = [bond for bond in bonds if bond is not None]
        for bond in theirs:
            refuse_layout(self._config.kafka, claim.partitions, bond.layout)
            refuse_other_key(self._config.kafka.ledger, claim, bond)
        known = [*generations, *(bond.generation for bond in theirs)]
        if known:
            self._meet(claim.digest, max(known).over(*known))

    def _meet(self, digest: str, newest: Generation) -> None:
        """Take a generation at the first meeting; leave at any with a newer one."""
        mine = self._generation
        if newest.digest == digest:
            self._generation = max(newest, mine or newest).over(newest)
        elif digest in newest.superseded if mine is None else newest > mine:
            raise Superseded(self._config.kafka.group)
        else:
            self._generation = mine.over(newest) if mine else newest.followed_by(digest)


def refuse_layout(kafka: Kafka, partitions: int, layout: Layout) -> None:
    """Refuse a ledger whose accounts do not lie as they do for so many partitions."""
    if layout.moving_to is not None:
        raise LedgerMoving(kafka.ledger)
    if layout.partitions != partitions:
        problem = (
            f"kafka.ledger: the accounts in {kafka.ledger} are spread over {layout.partitions} "
            f"partitions, {kafka.input} has {partitions}: they would not be found; "
            "run `meteragent ledger migrate`"
        )
        raise TopicsUnfit([problem])


def owner_of(kept: Kept) -> Owner | None:
    """What a partition says of its owner."""
    record = kept.reserved.get(OWNER)
    return None if record is None else Owner.read(record)


def another(ledger: str, difference: Difference) -> LedgerOfAnother:
    """What is to be said of a ledger that is not ours, by what it differs in."""
    instead = (
        "use that key; or, if it was replaced on purpose, stop all agents and run `meteragent "
        "key adopt`"
        if difference[0] == KEY
        else "name a ledger of its own: that is a second budget for the same meters"
    )
    return LedgerOfAnother(f"kafka.ledger: {ledger}", *difference, instead)


def refuse_other_key(ledger: str, claim: Claim, bond: Bond) -> None:
    """Refuse what was committed with another noise key."""
    if bond.key != claim.key:
        raise another(ledger, (KEY, bond.key, claim.key))


def unreadable(config: Config, kept: Kept) -> list[bytes]:
    """The keys of records that tell nothing of what was spent."""
    [share, *_] = [one.share for one in config.assigned]
    found = list(kept.foreign)
    for meter, record in kept.accounts.items():
        try:
            load([share], [record])
        except LedgerDamaged:
            found.append(meter.encode())
    return found


def refuse_lost(ledger: str, partition: int, kept: Kept, bond: Bond | None) -> None:
    """Refuse a partition that is not the one, or not all of it, that a position knows."""
    if kept.foreign:
        raise damaged(ledger, partition, "a record belongs to no meter")
    try:
        known = owner_of(kept)
    except LedgerDamaged as error:
        raise damaged(ledger, partition, str(error)) from error
    if bond is None:
        return
    if known is None or known.ledger != bond.ledger:
        was = "is new" if known is None else "is another one"
        raise LedgerLost(ledger, f"{was} in partition {partition}, and not what was written there")
    if kept.end < bond.end:
        raise LedgerLost(
            ledger, f"ends at {kept.end} in partition {partition}, and went up to {bond.end}"
        )


def damaged(ledger: str, partition: int, how: str) -> LedgerLost:
    """What is to be said of it."""
    return LedgerLost(ledger, f"is damaged in partition {partition} ({how})")


async def bonds(
    admin: AIOKafkaAdminClient, config: Config, partitions: int
) -> dict[int, Bond | None]:
    """What the group's positions say of who is at work."""
    found = await restore.committed(admin, config.kafka, partitions)
    return {partition: restore.bond_of(one) for partition, one in found.items()}


async def watch(look: Callable[[], Awaitable[None]], give_up: Callable[[Exception], None]) -> None:
    """Look again and again who else is at work; that brokers do not answer is others' concern."""
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        with suppress(KafkaError, OSError):
            try:
                await look()
            except MeterAgentError as error:
                give_up(error)
