"""Stream health: for the operator."""

from deploy.grafana.committed import COMMITS, FAILURES, RESOURCES
from deploy.grafana.expressions import gauge, largest, total
from deploy.grafana.layout import Dashboard, Row
from deploy.grafana.panels import GREEN, GREY, RED, YELLOW, Number, Query
from deploy.grafana.taken import BEHIND, CLOCKS, DELAY, INPUT

NOW = Row(
    "Now",
    (
        Number(
            "Instances up",
            "How many instances Prometheus can scrape.",
            "short",
            (Query(f"count (count by (job, instance) ({gauge('ready')}))", "answer"),),
            width=4,
            steps=((None, RED), (1, GREEN)),
        ),
        Number(
            "Ready",
            "The share of instances whose every partition runs, as /readyz says.",
            "percentunit",
            (Query(f"avg (min by (job, instance) ({gauge('ready')}))", "ready"),),
            width=4,
            steps=((None, RED), (0.5, YELLOW), (1, GREEN)),
            decimals=0,
        ),
        Number(
            "Longest stall",
            "How long the event loop, the brokers or a due commit have made no progress. "
            "Normally a second or two; /healthz fails at agent.progress_deadline, "
            "which is 60 s.",
            "s",
            (Query(largest(gauge("standstill_seconds")), "stall"),),
            width=4,
            steps=((None, GREEN), (10, YELLOW), (60, RED)),
            decimals=1,
        ),
        Number(
            "Consumer lag",
            "How many records of the input have not been read yet.",
            "short",
            (Query(total(gauge("partition_lag_records")), "waiting"),),
            width=4,
            steps=((None, GREEN), (10_000, YELLOW), (1_000_000, RED)),
        ),
        Number(
            "Oldest partition",
            "The age of the newest reading in the partition that lags most. If a "
            "head-end collects once a day, it is a day old before the next collection.",
            "s",
            (Query(largest(BEHIND), "behind"),),
            width=4,
            steps=((None, GREY),),
            decimals=0,
        ),
        Number(
            "Time since the last commit",
            "How long ago any instance last published something. Nothing is published "
            "while nothing comes in: MeterAgentNothingRead says when that is "
            "too long.",
            "s",
            (
                Query(
                    f"time() - {largest(gauge('last_commit_timestamp_seconds') + ' > 0')}",
                    "ago",
                ),
            ),
            width=4,
            steps=((None, GREY),),
            decimals=0,
        ),
    ),
)

DASHBOARD = Dashboard(
    file="stream-health.json",
    title="Stream health",
    meaning=(
        "For the operator: whether readings are taken in and answers committed in time, and what "
        "stands in the way if not."
    ),
    since="now-1h",
    rows=(NOW, INPUT, DELAY, CLOCKS, COMMITS, FAILURES, RESOURCES),
)
