"""Alerts about budgets and about what is withheld, rejected or refused."""

from deploy.prometheus.model import INSTANCE, WARNING, Alert, lately

POLICY = ("job", "policy")

ALERTS = (
    Alert(
        "MeterAgentBudgetRunsOut",
        "job_policy:meteragent_budget_exhaustion_seconds:min",
        "<",
        "on (job, policy) clamp_min(max by (job, policy) (meteragent_policy_pace_seconds), 3600)",
        "5m",
        WARNING,
        POLICY,
        "A privacy budget is about to run out",
        "Under {{ $labels.policy }} one meter in ten has no budget left for its next window within "
        "{{ $value | humanizeDuration }}.",
        "At the present rate the budget of a tenth of the meters is spent within the hour, or "
        "before the next window or collection, where these are rarer. Then "
        "their windows are withheld, or lose their later queries, until old spending leaves the "
        "horizon. The promise holds in any case; the data get gaps.",
        (
            (
                "`meteragent explain -c agent.toml` says how many windows the budget pays for, and "
                "what a smaller epsilon does to the error."
            ),
            (
                "See *Budget demand* on the dashboard *Privacy spend*: above 100 % the "
                "configuration asks for more than it grants."
            ),
            (
                "Ask fewer queries, with less epsilon, of longer windows. Raising the budget "
                "weakens the promise: that is for the data protection officer to decide."
            ),
        ),
    ),
    Alert(
        "MeterAgentMetersExhausted",
        "job_policy:meteragent_meters_exhausted:ratio",
        ">",
        0.1,
        "15m",
        WARNING,
        POLICY,
        "Meters have no budget left",
        "{{ $value | humanizePercentage }} of the meters under {{ $labels.policy }} have no budget "
        "left for their next window.",
        "Their budget of this horizon is spent, so nothing more is published of them for now.",
        (
            "`meteragent ledger top -c agent.toml` names the meters, on the trusted side.",
            (
                "All meters: see the steps of MeterAgentBudgetRunsOut. A few: do they send "
                "windows that others do not, such as late ones?"
            ),
        ),
    ),
    Alert(
        "MeterAgentSuppression",
        "job_policy_reason:meteragent_windows_suppressed:ratio_of_windows",
        ">",
        0.05,
        "15m",
        WARNING,
        ("job", "policy", "reason"),
        "Windows are withheld",
        "{{ $value | humanizePercentage }} of the windows under {{ $labels.policy }} are withheld "
        "(reason: {{ $labels.reason }}).",
        "Nothing of these windows is published: `budget` is spent, or, where presence is public, "
        "too few readings came (`coverage`).",
        (
            "`budget`: see MeterAgentBudgetRunsOut.",
            (
                "`coverage`: are readings missing at the source, rejected (*Rejected records by "
                "reason*) or late (*Readings by outcome*)? Is `min_coverage` too strict?"
            ),
        ),
    ),
    Alert(
        "MeterAgentClockSkew",
        'job_reason:meteragent_rejects:ratio_rate1h{reason="future"}',
        ">",
        0.01,
        "15m",
        WARNING,
        ("job", "reason"),
        "Readings come from the future",
        "{{ $value | humanizePercentage }} of the records of {{ $labels.job }} lie further ahead "
        "than agent.max_skew.",
        "A reading that is newer than its record's timestamp by more than `agent.max_skew` is "
        "rejected, because one wrong clock would close the windows of everybody.",
        (
            (
                "The dead-letter topic has the coordinates of each; read those records from the "
                "input, on the trusted side, to find the meters."
            ),
            (
                "One meter or gateway: set its clock. All: is the clock of the brokers or of the "
                "producer behind? Are times in seconds or local time taken for milliseconds of UTC?"
            ),
        ),
    ),
    Alert(
        "MeterAgentWrongPartition",
        lately('meteragent_rejects_total{reason="wrong_partition"}'),
        ">",
        0,
        "0m",
        WARNING,
        INSTANCE,
        "Readings come in the wrong partition",
        "{{ $labels.instance }} has rejected {{ $value | humanize }} records within the last hour "
        "that should have come in another partition.",
        "A meter has one account, in the partition that `kafka.partitioner` puts its id in. A "
        "second one elsewhere would be a second budget, so its readings are rejected there.",
        (
            (
                "The dead-letter topic has the coordinates of each. Are their records keyed by the "
                "meter's id, and by nothing else? With `agent.normalise_ids` by the id without "
                "capitals and spaces."
            ),
            (
                "All senders: `kafka.partitioner` is not the one they use. Java's client and those "
                "modelled on it use murmur2, librdkafka uses crc32. Some of them: two head-ends, "
                "two clients; set `partitioner` in one of them, such as `murmur2_random` in "
                "librdkafka's."
            ),
            (
                "Only while partitions are added: senders knew of them before the agents did. Stop "
                "the senders first."
            ),
        ),
    ),
    Alert(
        "MeterAgentRejects",
        'sum by (job) (job_reason:meteragent_rejects:ratio_rate1h{reason!~"future|no_group"})',
        ">",
        0.05,
        "15m",
        WARNING,
        ("job",),
        "Records are rejected",
        "{{ $value | humanizePercentage }} of the records of {{ $labels.job }} cannot be used.",
        "They are not readings, match no policy, or come from more meters than "
        "`agent.max_meters` allows.",
        (
            (
                "*Rejected records by reason* on the dashboard *Stream health* names the reasons, "
                "the dead-letter topic the coordinates."
            ),
            "`meteragent schema reading` prints what a reading must look like.",
        ),
    ),
)
