"""The tumbling mean of each meter in Quix Streams, as its manual writes it."""

import sys
from datetime import timedelta

from quixstreams import Application
from quixstreams.dataframe.windows import Mean

bootstrap, source, target, group, size, grace, state = sys.argv[1:]

app = Application(
    broker_address=bootstrap,
    consumer_group=group,
    auto_offset_reset="earliest",
    commit_interval=1.0,
    state_dir=state,
    loglevel="ERROR",
    producer_extra_config={"linger.ms": 100, "batch.size": 262_144},
    consumer_extra_config={"fetch.min.bytes": 1},
)
readings = app.topic(
    source, value_deserializer="json", timestamp_extractor=lambda value, *_: value["ts"]
)
means = app.topic(target, value_serializer="json")
stream = app.dataframe(readings)
stream = (
    stream.tumbling_window(
        duration_ms=timedelta(milliseconds=int(size)), grace_ms=timedelta(milliseconds=int(grace))
    )
    .agg(avg=Mean("value"))
    .final()
)
stream.to_topic(means)
app.run()
