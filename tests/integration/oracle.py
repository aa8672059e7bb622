"""What must have come out: the pipeline over what went in, without Kafka, crashes or commits."""

from __future__ import annotations

import asyncio
import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition

from meteragent.formats.decoder import Decoder
from meteragent.formats.encoder import Encoder, reject_document
from meteragent.privacy.billing import load as load_accounts
from meteragent.stream.pipeline import Pipeline

if TYPE_CHECKING:
    from meteragent.config import Config

BATCH = 1000


@dataclass(slots=True)
class Published:
    """What one partition's readings became."""

    releases: dict[bytes, list[bytes]] = field(default_factory=lambda: defaultdict(list))
    """Each meter's, in their order."""
    ledger: dict[bytes, bytes] = field(default_factory=dict)
    rejects: Counter[bytes] = field(default_factory=Counter)

    def __len__(self) -> int:
        return sum(map(len, self.releases.values()))


async def read(
    bootstrap: str, topic: str, partition: int, isolation: str = "read_committed"
) -> list[ConsumerRecord]:
    """All records of a partition."""
    source = TopicPartition(topic, partition)
    consumer = AIOKafkaConsumer(
        bootstrap_servers=bootstrap, isolation_level=isolation, fetch_max_wait_ms=50
    )
    records: list[ConsumerRecord] = []
    try:
        await consumer.start()
        consumer.assign([source])
        end = await _settled_end(bootstrap, consumer, source)
        await consumer.seek_to_beginning(source)
        while await consumer.position(source) < end:
            for some in (await consumer.getmany(source, timeout_ms=1000)).values():
                records += some
    finally:
        await consumer.stop()
    return [record for record in records if record.offset < end]


async def _settled_end(bootstrap: str, consumer: AIOKafkaConsumer, source: TopicPartition) -> int:
    """Where a partition ends, once no transaction is open: commits answer before they show."""
    async with AIOKafkaConsumer(bootstrap_servers=bootstrap) as other, asyncio.timeout(10):
        while True:
            written: int = (await other.end_offsets([source]))[source]
            stable = (await consumer.end_offsets([source]))[source]
            if stable == written:
                return written
            await asyncio.sleep(0.1)


async def predicted(bootstrap: str, config: Config, partition: int) -> Published:
    """What must have been published of a partition, given its input."""
    records = await read(bootstrap, config.kafka.input, partition)
    pipeline = Pipeline(
        config.assigned,
        config.agent.noise_key(),
        max_skew=config.agent.max_skew,
        max_meters=config.agent.max_meters,
    )
    decoder, encoder, published = Decoder(), Encoder(), Published()
    for first in range(0, len(records), BATCH):
        some = records[first : first + BATCH]
        readings = decoder.decode(
            [r.value for r in some], [r.offset for r in some], [r.timestamp for r in some]
        )
        for step in pipeline.feed(readings):
            meters = [meter.encode() for meter in step.releases.meters]
            for meter, document in zip(meters, encoder.encode(step.releases), strict=True):
                published.releases[meter].append(document)
            published.ledger.update((meter.encode(), account) for meter, account in step.accounts)
    published.rejects.update(
        reject_document(config.kafka.input, partition, reject) for reject in pipeline.counts.rejects
    )
    return published


async def found(bootstrap: str, config: Config, partition: int) -> Published:
    """What everybody reads of a partition at `read_committed`."""
    published = Published()
    for record in await read(bootstrap, config.kafka.output, partition):
        published.releases[record.key].append(record.value)
    for record in await read(bootstrap, config.kafka.ledger, partition):
        if not record.key.startswith(b"\0"):  # what is no account
            published.ledger[record.key] = record.value
    published.rejects.update(
        record.value for record in await read(bootstrap, config.kafka.rejected, partition)
    )
    return published


async def drawn_again(bootstrap: str, config: Config, partition: int) -> int:
    """How many releases were written more than once, aborted ones too; each must be the same."""
    written: dict[bytes, list[bytes]] = defaultdict(list)
    for record in await read(bootstrap, config.kafka.output, partition, "read_uncommitted"):
        window = record.value[: record.value.index(b'"values"')]
        written[window].append(record.value)
    for window, documents in written.items():
        assert len(set(documents)) == 1, f"a second draw: {window!r}"
    return sum(len(documents) - 1 for documents in written.values())


async def assert_paid(
    bootstrap: str, config: Config, partitions: int, *, lost: bool = False
) -> None:
    """Every release stands in its meter's account, and nothing else does, unless it was `lost`.

    The pipeline is not asked: only what the two topics say of each other counts.
    """
    for partition in range(partitions):
        actual = await found(bootstrap, config, partition)
        for meter, documents in actual.releases.items():
            one = next(a for a in config.assigned if meter.decode().startswith(a.prefix))
            policy = one.policy
            costs = {charge.name: charge.cost for charge in policy.charges}
            spent: Counter[int] = Counter()
            windows = [json.loads(document) for document in documents]
            for window in windows:
                bucket = window["window_start"] // policy.terms.bucket * policy.terms.bucket
                spent[bucket] += sum(costs[charge] for charge in window["epsilon"])
            [ledger] = load_accounts([one.share], [actual.ledger[meter]])
            account = ledger.history(0)
            first = max(account, default=0) - ledger.buckets_kept * policy.terms.bucket
            due = {bucket: nano for bucket, nano in spent.items() if nano and bucket > first}
            assert len({window["window_start"] for window in windows}) == len(windows), meter
            assert lost or due == account, (meter, due, account)
            assert all(nano <= account.get(bucket, 0) for bucket, nano in due.items()), meter


async def assert_exactly_once(bootstrap: str, config: Config, partitions: int) -> tuple[int, int]:
    """Everything as predicted, byte for byte; answer (releases, releases written again)."""
    releases = again = 0
    for partition in range(partitions):
        expected = await predicted(bootstrap, config, partition)
        actual = await found(bootstrap, config, partition)
        wrong = {
            meter: (len(actual.releases[meter]), len(expected.releases[meter]))
            for meter in expected.releases.keys() | actual.releases.keys()
            if actual.releases[meter] != expected.releases[meter]
        }
        assert not wrong, f"partition {partition}: {len(wrong)} meters, {min(wrong.items())}"
        accounts = expected.ledger.items() ^ actual.ledger.items()
        assert not accounts, f"partition {partition}: {len(accounts)} accounts, {min(accounts)}"
        rejects = (expected.rejects - actual.rejects, actual.rejects - expected.rejects)
        assert not any(rejects), f"partition {partition}: (missing, too many) {rejects}"
        assert len(expected) > 0
        assert expected.rejects
        releases += len(expected)
        again += await drawn_again(bootstrap, config, partition)
    return releases, again
