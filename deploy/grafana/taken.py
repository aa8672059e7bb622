"""Panels about what is taken in: how much, how late, by which clock."""

from deploy.grafana.expressions import gauge, largest, rate, total, window_quantile
from deploy.grafana.layout import Row
from deploy.grafana.panels import GREY, RED, Lines, Query

POLICY = ("policy",)
BEHIND = f"time() - {gauge('partition_event_time_seconds')}"

INPUT = Row(
    "Input",
    (
        Lines(
            "Records",
            "Records read per second, good and bad, by instance.",
            "rps",
            (Query(total(rate("records"), by="instance"), "{{instance}}", ("instance",)),),
            least=0,
            stacked=True,
        ),
        Lines(
            "Readings by outcome",
            "Late ones came when their window had been decided; of two for the same slot "
            "the second is a duplicate. Where presence is private, none are counted.",
            "rps",
            (Query(total(rate("readings"), by="outcome"), "{{outcome}}", ("outcome",)),),
            least=0,
        ),
        Lines(
            "Rejected records by reason",
            "Records per second that were rejected whole. Each is in the dead-letter "
            "topic, by its coordinates.",
            "rps",
            (
                Query(
                    f"{total(rate('rejects'), by='reason')} > 0",
                    "{{reason}}",
                    ("reason",),
                ),
            ),
            least=0,
            stacked=True,
            nothing="none",
        ),
    ),
)

DELAY = Row(
    "Delay",
    (
        Lines(
            "Delay from window end to release",
            "From the end of a window to its release, by the wall clock: median and 95th "
            "percentile. It includes grace and idle; in a replay it is the age of the data.",
            "s",
            (
                Query(
                    window_quantile(0.5, "release_delay_seconds", "policy"),
                    "{{policy}} median",
                    POLICY,
                ),
                Query(
                    window_quantile(0.95, "release_delay_seconds", "policy"),
                    "{{policy}} 95th percentile",
                    POLICY,
                ),
            ),
            least=0,
        ),
        Lines(
            "Consumer lag by partition",
            "Records not read yet, by the brokers' count.",
            "short",
            (
                Query(
                    largest(gauge("partition_lag_records"), by="partition"),
                    "{{partition}}",
                    ("partition",),
                ),
            ),
            least=0,
        ),
        Lines(
            "Age of the newest reading by partition",
            "How far a partition's event time is behind the wall clock: near the meters' "
            "own delay while it is caught up.",
            "s",
            (Query(largest(BEHIND, by="partition"), "{{partition}}", ("partition",)),),
            least=0,
        ),
    ),
)

CLOCKS = Row(
    "Clocks",
    (
        Lines(
            "Clock offset from the brokers",
            "By how much each instance's clock is ahead of the brokers', at least. Beyond "
            "agent.max_skew no clock closes windows there, and the instance is not ready.",
            "s",
            (
                Query(
                    largest(gauge("clock_ahead_seconds"), by="instance"),
                    "{{instance}}",
                    ("instance",),
                ),
            ),
            width=12,
        ),
        Lines(
            "Time since the last clock check",
            "Each instance checks once a second, in the ledger topic, while it has a partition.",
            "s",
            (
                Query(
                    largest(gauge("clock_age_seconds"), by="instance"),
                    "{{instance}}",
                    ("instance",),
                ),
            ),
            width=12,
            steps=((None, GREY), (10, RED)),
            least=0,
        ),
    ),
)
