"""Alerts about the stream: when an operator should look, and what to do then."""

from deploy.prometheus import life, reading
from deploy.prometheus.model import INSTANCE, WARNING, Alert, lately

ALERTS = (
    *life.ALERTS,
    *reading.ALERTS,
    Alert(
        "MeterAgentTransactionsAborting",
        "job_instance:meteragent_transactions_abandoned:ratio_rate30m",
        ">",
        0.1,
        "10m",
        WARNING,
        INSTANCE,
        "Transactions are abandoned",
        "{{ $value | humanizePercentage }} of the transactions of {{ $labels.instance }} ended "
        "without a commit.",
        "An abandoned transaction published nothing; its windows are computed again, with the "
        "same result. A few are normal in a rebalance; a steady share means that something "
        "keeps breaking.",
        (
            "The log's `partition failed` names the error and its place.",
            (
                "Fenced producers: two instances believe that they own a partition. Are they in "
                "one group, with session timeouts longer than their pauses?"
            ),
            (
                "Timeouts: is a broker slow? The log says `kafka.transaction_timeout` where what "
                "was sent at once took too long, and how much that was: smaller portions follow by "
                "themselves; if it comes again, raise it."
            ),
        ),
    ),
    Alert(
        "MeterAgentFailing",
        "sum by (job, instance, kind) (increase(meteragent_failures_total[15m]))",
        ">",
        5,
        "5m",
        WARNING,
        ("job", "instance", "kind"),
        "Repeated failures",
        "{{ $labels.instance }} has started over {{ $value | humanize }} times within 15 minutes "
        "({{ $labels.kind }}).",
        "After an error the agent discards its state and rebuilds it from Kafka. Once is "
        "normal; again and again is not.",
        (
            (
                "`kind` says where to look: `kafka` the brokers, `system` network, disk or "
                "time, `meteragent` something the agent refuses."
            ),
            "The log says which error, and where; the status page lists the last ones.",
        ),
    ),
    Alert(
        "MeterAgentBug",
        lately('meteragent_failures_total{kind="bug"}'),
        ">",
        0,
        "0m",
        WARNING,
        INSTANCE,
        "Unexpected error",
        "{{ $labels.instance }} failed in a way that we did not foresee, and started over.",
        "The agent did not expect this kind of error. It has rebuilt itself, so nothing "
        "is lost, but it may happen again with the same record.",
        (
            (
                "Report the log line `partition failed`: it holds the kind of the error and the "
                "place, and no reading."
            ),
        ),
    ),
)
