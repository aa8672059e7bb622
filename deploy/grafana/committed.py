"""Panels about what is committed, what fails on the way, and what that takes."""

from deploy.grafana.expressions import (
    gauge,
    increase,
    largest,
    process,
    process_rate,
    quantile,
    rate,
    total,
)
from deploy.grafana.layout import Row
from deploy.grafana.panels import GREY, RED, Lines, Query

POLICY, INSTANCE = ("policy",), ("job", "instance")
TRANSACTIONS = total(rate("transactions"), by="result")

COMMITS = Row(
    "Commits",
    (
        Lines(
            "Transactions",
            "Per second, by result. An abandoned one published nothing and is retried.",
            "ops",
            (Query(TRANSACTIONS, "{{result}}", ("result",)),),
            least=0,
            stacked=True,
            bars=True,
        ),
        Lines(
            "Commit duration",
            "From sending the records to the end of the transaction: median and 95th percentile.",
            "s",
            (
                Query(quantile(0.5, "transaction_duration_seconds"), "median"),
                Query(quantile(0.95, "transaction_duration_seconds"), "95th percentile"),
            ),
            least=0,
        ),
        Lines(
            "Stalls",
            "How long the event loop, the brokers or a due commit have made no progress.",
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
)

FAILURES = Row(
    "Rebalances and failures",
    (
        Lines(
            "Partitions by state",
            "What the partitions are doing. Restoring ones read their accounts back; "
            "failed ones wait to start over.",
            "short",
            (Query(f"{total(gauge('partitions'), by='state')} > 0", "{{state}}", ("state",)),),
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
)

RESOURCES = Row(
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
                    total(f"{gauge('meters')} * {gauge('meter_memory_bytes')}", by="instance"),
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
)
