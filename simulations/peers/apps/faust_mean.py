"""The tumbling mean of each meter in Faust, as its manual writes it: told on close."""

# mypy: disable-error-code="call-arg,misc,untyped-decorator"
import sys
from datetime import timedelta

import faust

bootstrap, source, target, group, size, grace, state = sys.argv[1:8]
window = timedelta(milliseconds=int(size))


class Reading(faust.Record, serializer="json"):
    """What a meter sends."""

    meter_id: str
    ts: int
    value: float


app = faust.App(
    group,
    broker=f"kafka://{bootstrap}",
    store="memory://",
    datadir=state,
    web_enabled=False,
    topic_partitions=4,
    topic_replication_factor=1,
    table_cleanup_interval=1.0,
    stream_wait_empty=False,
    stream_buffer_maxsize=16_384,
    broker_max_poll_records=5_000,
    producer_linger=0.1,
    producer_max_batch_size=262_144,
    consumer_auto_offset_reset="earliest",
)
readings = app.topic(source, value_type=Reading, key_type=str, key_serializer="raw")
means = app.topic(target, value_serializer="json")


def close(key: tuple[str, tuple[float, float]], total: tuple[float, int]) -> None:
    """Send the mean of a window that has closed."""
    meter, (start, _) = key
    means.send_soon(
        key=meter, value={"meter_id": meter, "start": start, "avg": total[0] / total[1]}
    )


table = (
    app.Table("means", default=lambda: (0.0, 0), partitions=4, on_window_close=close)
    .tumbling(window, expires=timedelta(milliseconds=int(grace)))
    .relative_to_field(Reading.ts)
)


@app.agent(readings)
async def add(stream: faust.Stream) -> None:
    """Add each reading to its window."""
    async for reading in stream:
        reading.ts = reading.ts / 1000
        watts, count = table[reading.meter_id].value()
        table[reading.meter_id] = (watts + reading.value, count + 1)


sys.argv = ["faust", "worker", "--loglevel=error", "--without-web"]
app.main()
