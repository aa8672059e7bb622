"""The tumbling mean of each meter in Pathway, each window told once, as its manual writes it."""

import sys

import pathway as pw

bootstrap, source, target, group, size, grace, state = sys.argv[1:8]


class Reading(pw.Schema):  # type: ignore[misc]
    """A record."""

    meter_id: str
    ts: int
    value: float


readings = pw.io.kafka.read(
    {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "session.timeout.ms": "10000",
    },
    topic=source,
    schema=Reading,
    format="json",
    autocommit_duration_ms=500,
)
means = readings.windowby(
    readings.ts,
    window=pw.temporal.tumbling(duration=int(size)),
    instance=readings.meter_id,
    behavior=pw.temporal.exactly_once_behavior(int(grace)),
).reduce(
    meter_id=pw.this["_pw_instance"],
    window=pw.this["_pw_window_start"],
    avg=pw.reducers.avg(pw.this.value),
)
pw.io.kafka.write(
    means,
    {"bootstrap.servers": bootstrap, "linger.ms": "100"},
    topic_name=target,
    format="json",
)
pw.run(monitoring_level=pw.MonitoringLevel.NONE)
