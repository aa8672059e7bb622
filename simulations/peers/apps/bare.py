"""The bare limit: every record fetched and decoded, and nothing done with it.

    python -m simulations.peers.apps.bare BOOTSTRAP TOPIC PARTITIONS each|joined

`each` decodes as pydantic's manual does, record by record; `joined` with the agent's decoder. The
garbage collector looks as seldom as the agent's, or the limit would be a tenth lower.
Prints records, seconds and seconds of the processor, from the first fetch to the last record.
"""

import gc
import sys
import time
from collections.abc import Sequence

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition

from meteragent.commands.run import SELDOM
from meteragent.formats.decoder import Decoder
from meteragent.formats.json_one import BLOCK, READING
from meteragent.process.loop import run_until_done

AT_ONCE = 5_000


async def drain(bootstrap: str, topic: str, partitions: int, how: str) -> None:
    """Read a topic to its end."""
    consumer = AIOKafkaConsumer(
        bootstrap_servers=bootstrap,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        enable_auto_commit=False,
    )
    await consumer.start()
    everywhere = [TopicPartition(topic, number) for number in range(partitions)]
    consumer.assign(everywhere)
    total = sum((await consumer.end_offsets(everywhere)).values())
    clock, processor, records = time.perf_counter(), time.process_time(), 0
    decoder = Decoder()
    while records < total:
        for some in (await consumer.getmany(timeout_ms=500, max_records=AT_ONCE)).values():
            records += len(some)
            decode(decoder, some, how)
    print(records, time.perf_counter() - clock, time.process_time() - processor)
    await consumer.stop()


def decode(decoder: Decoder, records: Sequence[ConsumerRecord], how: str) -> None:
    """Decode, and forget."""
    if how == "joined":
        columns = zip(*((r.value, r.offset, r.timestamp) for r in records), strict=True)
        decoder.decode(*map(list, columns))
        return
    one = BLOCK if b'"values"' in records[0].value else READING
    for record in records:
        one.validate_json(record.value)


if __name__ == "__main__":
    gc.set_threshold(*SELDOM)
    bootstrap, topic, partitions, how = sys.argv[1:]
    run_until_done(drain(bootstrap, topic, int(partitions), how))
