"""The schemas that messages need: learned from the registry, kept, and waited for.

Who reads is never held up: a partition that lacks a schema reads on from the same record once it is
there. Until then it is not well, and says so. Where records of unknown schemas are rejected, an id
counts as unknown for a while, and then the registry is asked again.
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

    async def learn(self, partition: int, lacking: SchemasLacking) -> None:
        """Return when all of them are known, or are known to be rejected."""
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
        for oldest in [*self._kept][: max(0, len(self._kept) - self._registry.cache)]:
            if oldest not in lacking.numbers:
                del self._kept[oldest]
                self._decoder.forget(oldest)

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
        loop.call_later(UNKNOWN_SECONDS, self._decoder.forget, number)


class UnknownSchema(Exception):
    """The registry answers, and does not know it."""


class Wanted:
    """What keeps a partition from reading on, if anything does."""

    def __init__(self, clock: Clock) -> None:
        self._now = clock
        self._task: asyncio.Task[None] | None = None
        self._since = 0.0

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

    def begin(self, learning: Work, failed: Callable[[Exception], None]) -> None:
        """Wait until this is done, or has failed in a way that nobody reckons with."""
        self.end()
        self._since = self._now()
        self._task = asyncio.create_task(_told(learning, failed), name="schemas")

    def end(self) -> None:
        """Wait no longer."""
        if self._task is not None:
            self._task.cancel()
            self._task = None


async def _told(learning: Work, failed: Callable[[Exception], None]) -> None:
    try:
        await learning()
    except Exception as error:  # noqa: BLE001 - or it would be waited for again and again
        failed(error)
