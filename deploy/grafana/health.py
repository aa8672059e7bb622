"""Stream health: for the operator."""

from deploy.grafana.expressions import (
    gauge,
    increase,
    largest,
    process,
    process_rate,
    quantile,
    rate,
    total,
    window_quantile,
)
from deploy.grafana.layout import Dashboard, Row
from deploy.grafana.panels import GREEN, GREY, RED, YELLOW, Lines, Number, Query

POLICY, INSTANCE = ("policy",), ("job", "instance")

BEHIND = f"time() - {gauge('partition_event_time_seconds')}"
TRANSACTIONS = total(rate("transactions"), by="result")

DASHBOARD = Dashboard(
    file="stream-health.json",
    title="Stream health",
    meaning=(
        "For the operator: whether readings are taken in and answers committed in time, and what "
        "stands in the way if not."
    ),
    since="now-1h",
    rows=(
        Row(
            "Now",
            (
                Number(
                    "Instances up",
                    "How many instances Prometheus can scrape.",
                    "short",
                    (Query(f"count ({gauge('ready')})", "answer"),),
                    width=4,
                    steps=((None, RED), (1, GREEN)),
                ),
                Number(
                    "Ready",
                    "The share of instances whose every partition runs, as /readyz says.",
                    "percentunit",
                    (Query(f"avg ({gauge('ready')})", "ready"),),
                    width=4,
                    steps=((None, RED), (0.5, YELLOW), (1, GREEN)),
                    decimals=0,
                ),
                Number(
                    "Longest stall",
                    "For how long the loop, the brokers or a due commit have made no progress. "
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
                    "How old the newest reading of the partition is that lags most. Where a "
                    "head-end collects once a day, it is a day old before the next collection.",
                    "s",
                    (Query(largest(BEHIND), "behind"),),
                    width=4,
                    steps=((None, GREY),),
                    decimals=0,
                ),
                Number(
                    "Time since the last commit",
                    "How long ago something was published, by whichever instance did so last. "
                    "Nothing is while nothing comes in: when that is too long, "
                    "MeterAgentNothingRead says so.",
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
        ),
        Row(
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
                    "the second is a duplicate. Where presence is private, only late ones count.",
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
        ),
        Row(
            "Delay",
            (
                Lines(
                    "Delay from window end to release",
                    "The wall clock's delay of half, and of nearly all, of the windows that were "
                    "committed. Grace and idle are in it. In a replay it is the age of the data.",
                    "s",
                    (
                        Query(
                            window_quantile(0.5, "release_delay_seconds", "policy"),
                            "{{policy}} half",
                            POLICY,
                        ),
                        Query(
                            window_quantile(0.95, "release_delay_seconds", "policy"),
                            "{{policy}} 95 %",
                            POLICY,
                        ),
                    ),
                    least=0,
                ),
                Lines(
                    "Consumer lag by partition",
                    "Records after the last one read, as the brokers say.",
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
        ),
        Row(
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
                    "Each instance asks once a second, in the ledger topic, as long as a partition "
                    "is its own.",
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
        ),
        Row(
            "Commits",
            (
                Lines(
                    "Transactions",
                    "Per second, by their end. An abandoned one published nothing and is made "
                    "again.",
                    "ops",
                    (Query(TRANSACTIONS, "{{result}}", ("result",)),),
                    least=0,
                    stacked=True,
                    bars=True,
                ),
                Lines(
                    "Commit duration",
                    "From handing records over to the end of the transaction: of half of them, and "
                    "of nearly all.",
                    "s",
                    (
                        Query(quantile(0.5, "transaction_duration_seconds"), "half"),
                        Query(quantile(0.95, "transaction_duration_seconds"), "95 %"),
                    ),
                    least=0,
                ),
                Lines(
                    "Stalls",
                    "For how long the loop, the brokers or a due commit have made no progress.",
                    "s",
                    (
                        Query(
                            largest(gauge("standstill_seconds"), by="instance"),
                            "{{instance}}",
                            ("instance",),
                        ),
                    ),
                    steps=((None, GREY), (60, RED)),
                    least=0,
                ),
            ),
        ),
        Row(
            "Rebalances and failures",
            (
                Lines(
                    "Partitions by state",
                    "What the partitions are doing. Restoring ones read their accounts back; "
                    "failed ones wait to start over.",
                    "short",
                    (
                        Query(
                            f"{total(gauge('partitions'), by='state')} > 0", "{{state}}", ("state",)
                        ),
                    ),
                    least=0,
                    stacked=True,
                    decimals=0,
                ),
                Lines(
                    "Failures",
                    "Errors after which something started over, in the last minutes. A bug should "
                    "never move.",
                    "short",
                    (
                        Query(
                            total(
                                increase("failures_total"),
                                by="where, kind",
                            ),
                            "{{where}}: {{kind}}",
                            ("where", "kind"),
                        ),
                    ),
                    least=0,
                    bars=True,
                ),
                Lines(
                    "Restores",
                    "How often partitions read their accounts back, and records that open windows "
                    "needed and Kafka had deleted: of these, any is one too many.",
                    "short",
                    (
                        Query(
                            total(increase("restore_duration_seconds_count")),
                            "restores",
                        ),
                        Query(
                            total(increase("restore_lost_records_total")),
                            "lost records",
                        ),
                    ),
                    least=0,
                    bars=True,
                ),
            ),
        ),
        Row(
            "Resources",
            (
                Lines(
                    "CPU",
                    "Processor time per second, by instance: 1 is one core.",
                    "short",
                    (
                        Query(
                            process_rate("cpu_seconds_total"),
                            "{{instance}}",
                            INSTANCE,
                        ),
                    ),
                    least=0,
                ),
                Lines(
                    "Memory",
                    "Resident memory by instance, and what the arrays of all meters' windows and "
                    "accounts take of it.",
                    "bytes",
                    (
                        Query(process("resident_memory_bytes"), "{{instance}}", INSTANCE),
                        Query(
                            total(
                                f"{gauge('meters')} * {gauge('meter_memory_bytes')}", by="instance"
                            ),
                            "{{instance}} meters",
                            ("instance",),
                        ),
                    ),
                    least=0,
                ),
                Lines(
                    "Open windows",
                    "Windows that hold readings and are not decided yet.",
                    "short",
                    (Query(total(gauge("windows_open"), by="policy"), "{{policy}}", POLICY),),
                    least=0,
                ),
            ),
        ),
    ),
)
