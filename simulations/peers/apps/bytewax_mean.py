"""The tumbling mean of each meter in Bytewax, as its manual writes it."""

import json
import sys
from datetime import UTC, datetime, timedelta

import bytewax.operators as op
import bytewax.operators.windowing as win
from bytewax.connectors.kafka import KafkaSinkMessage
from bytewax.connectors.kafka import operators as kafka
from bytewax.dataflow import Dataflow
from bytewax.operators.windowing import EventClock, TumblingWindower
from bytewax.run import cli_main

bootstrap, source, target, group, size, grace, state = sys.argv[1:8]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

flow = Dataflow("means")
read = kafka.input(
    "read",
    flow,
    brokers=[bootstrap],
    topics=[source],
    tail=True,
    batch_size=5_000,
    add_config={"group.id": group},
)
parsed = op.map("parse", read.oks, lambda message: json.loads(message.value))
keyed = op.map("key", parsed, lambda reading: (reading["meter_id"], reading))
clock = EventClock(
    ts_getter=lambda reading: EPOCH + timedelta(milliseconds=reading["ts"]),
    wait_for_system_duration=timedelta(milliseconds=int(grace)),
)
windower = TumblingWindower(length=timedelta(milliseconds=int(size)), align_to=EPOCH)


def add(total: tuple[float, int], reading: dict[str, float]) -> tuple[float, int]:
    """Add a reading to its window."""
    return total[0] + reading["value"], total[1] + 1


sums = win.fold_window(
    "mean",
    keyed,
    clock,
    windower,
    builder=lambda: (0.0, 0),
    folder=add,
    merger=lambda one, other: (one[0] + other[0], one[1] + other[1]),
)
means = op.map(
    "write",
    sums.down,
    lambda item: KafkaSinkMessage(
        item[0].encode(),
        json.dumps(
            {"meter_id": item[0], "window": item[1][0], "avg": item[1][1][0] / item[1][1][1]}
        ).encode(),
    ),
)
kafka.output("out", means, brokers=[bootstrap], topic=target)
cli_main(flow)
