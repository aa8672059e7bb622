"""The schemas that messages need: learned from the registry, kept, and waited for.

Who reads is never held up: a partition that lacks a schema reads on from the same record once it is
there. Until then it is not well, and says so. Where records of unknown schemas are rejected, an id
counts as unknown for a while, and then the registry is asked again. What a batch needs is neither
forgotten nor asked for again before that batch is taken, however long the others of it took: else
a slow registry, or a small cache, could have a partition ask in circles.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol

from meteragent.config.registry import Registry
from meteragent.errors import InvalidSetting, RegistryRefused, RegistryUnreachable
from meteragent.formats.mapping import Written
from meteragent.formats.registered import KINDS, RegisteredDecoder, Schema, SchemasLacking
from meteragent.kafka.apicurio import ApicurioClient
from meteragent.kafka.registry import RegistryClient
from meteragent.process.loop import Clock, Work, back_off
from meteragent.watch.events import Listener, SchemasAwaited

FIRST_RETRY_SECONDS = 0.2
TRIES = 3
"""How often a registry is asked that does not answer, before records are rejected."""
UNKNOWN_SECONDS = 60.0
"""For how long an id stays unknown, where its records are rejected."""

PATIENCE_SECONDS = 1.0

_NO_ANSWER = (RegistryUnreachable, RegistryRefused, InvalidSetting)


class Tells(Protocol):
    """A registry."""

    async def schema(self, number: int) -> Schema | None:
        """The schema of this id, or None: there is none.

        RegistryUnreachable: nobody knows. RegistryRefused: it does not tell.
        """


def client_of(registry: Registry, written: Written) -> RegistryClient | ApicurioClient:
    """What asks a registry for the schemas of messages that are written so."""
    if registry.apicurio:
        return ApicurioClient(registry, registry.apicurio, KINDS[written])
    return RegistryClient(registry, serialized=written == "protobuf")


class Schemas:
    """What an agent knows of a registry; its partitions share it."""

    def __init__(
        self, registry: Registry, client: Tells, decoder: RegisteredDecoder, tell: Listener
    ) -> None:
        self._registry = registry
        self._client = client
        self._decoder = decoder
        self._tell = tell
        self._kept: dict[int, None] = {}
        """From those that were needed longest ago to the newest."""
        self._one_by_one = asyncio.Lock()
        self._needed: dict[int, frozenset[int]] = {}
        """By partition: what the batch needs that it is to take next."""
        self._expired: set[int] = set()
        """Ids that have been unknown for long enough, and are needed."""

    async def learn(self, partition: int, lacking: SchemasLacking) -> None:
        """Return when all of them are known, or are known to be rejected; until `taken`."""
        self._needed[partition] = lacking.numbers
        for number in sorted(lacking.numbers):
            self._kept.pop(number, None)
            self._kept[number] = None
            failures = 0
            while not self._decoder.knows(number):
                error = await self._learned(number)
                if error is None:
                    break
                failures += 1
                lasting = isinstance(error, UnknownSchema) or failures >= TRIES
                if self._registry.unknown == "reject" and lasting:
                    self._reject(number)
                    self._tell(SchemasAwaited(error, 0.0, partition))
                    break
                seconds = back_off(FIRST_RETRY_SECONDS, failures)
                self._tell(SchemasAwaited(error, seconds, partition))
                await asyncio.sleep(seconds)
        self._let_go()

    def taken(self, partition: int) -> None:
        """What this partition lacked schemas for was taken, or is left to somebody else."""
        if self._needed.pop(partition, None):
            self._let_go()

    def _let_go(self) -> None:
        """Forget what is beyond the cache, and what is to be asked for again, but is not needed."""
        needed = frozenset[int]().union(*self._needed.values())
        beyond = [*self._kept][: max(0, len(self._kept) - self._registry.cache)]
        for number in {*beyond, *self._expired} - needed:
            self._kept.pop(number, None)
            self._expired.discard(number)
            self._decoder.forget(number)

    async def _learned(self, number: int) -> Exception | None:
        """Ask for one, and answer why it is not had."""
        async with self._one_by_one:
            if self._decoder.knows(number):
                return None
            try:
                schema = await self._client.schema(number)
            except _NO_ANSWER as error:
                return error
            if schema is None:
                return UnknownSchema()
            self._decoder.learn(number, schema)
            return None

    def _reject(self, number: int) -> None:
        self._decoder.learn(number, None)
        loop = asyncio.get_running_loop()
        loop.call_later(UNKNOWN_SECONDS, self._expire, number)

    def _expire(self, number: int) -> None:
        self._expired.add(number)
        self._let_go()


class UnknownSchema(Exception):
    """The registry answers, and does not know it."""


class Wanted:
    """What keeps a partition from reading on, if anything does."""

    def __init__(self, clock: Clock) -> None:
        self._now = clock
        self._task: asyncio.Task[None] | None = None
        self._since = 0.0
        self._taken: Callable[[], None] = _nothing

    @property
    def waits(self) -> bool:
        """Whether it may not read on."""
        return self._task is not None and not self._task.done()

    @property
    def seconds(self) -> float:
        """For how long it has not."""
        return self._now() - self._since if self.waits else 0.0

    @property
    def stands_still(self) -> bool:
        """Whether that is longer than a registry takes that is well."""
        return self.seconds > PATIENCE_SECONDS

    def begin(
        self, learning: Work, failed: Callable[[Exception], None], taken: Callable[[], None]
    ) -> None:
        """Wait until this is done, or has failed in a way that nobody reckons with.

        `taken` is called once what lacked it was taken, or is so no more.
        """
        self._wait_no_longer()
        self._since, self._taken = self._now(), taken
        self._task = asyncio.create_task(_told(learning, failed), name="schemas")

    def met(self) -> None:
        """What was lacking lacks no more."""
        taken, self._taken = self._taken, _nothing
        taken()

    def end(self) -> None:
        """Wait no longer, and take nothing."""
        self._wait_no_longer()
        self.met()

    def _wait_no_longer(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None


def _nothing() -> None:
    """There is nothing to be done."""


async def _told(learning: Work, failed: Callable[[Exception], None]) -> None:
    try:
        await learning()
    except Exception as error:  # noqa: BLE001 - or it would be waited for again and again
        failed(error)
