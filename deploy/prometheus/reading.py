"""Alerts about what is read: that it comes, in time, and is waited for by nobody in vain."""

from deploy.prometheus.model import INSTANCE, WARNING, Alert, lately

ALERTS = (
    Alert(
        "MeterAgentLag",
        "job:meteragent_catch_up_seconds:ratio_rate5m",
        ">",
        600,
        "10m",
        WARNING,
        ("job",),
        "Agents are lagging",
        "The backlog of {{ $labels.job }} is {{ $value | humanizeDuration }} of work "
        "at the present rate.",
        "Records come faster than they are taken in, or much has piled up. Windows are decided by "
        "event time, so they stay right; they are only late.",
        (
            (
                "Is the rate of records falling (trouble) or the input rising (growth, a replay)? "
                "See *Records* and *Consumer lag* on the dashboard *Stream health*."
            ),
            (
                "Is only one partition behind? Then its meters are too many or too busy: more "
                "partitions, by `meteragent ledger migrate`."
            ),
            "All of them: start more instances, up to one per partition.",
        ),
    ),
    Alert(
        "MeterAgentNothingRead",
        "time() - max by (job) (meteragent_last_record_timestamp_seconds)",
        ">",
        "on (job) clamp_min(max by (job) (meteragent_policy_delay_seconds), 1800)",
        "1m",
        WARNING,
        ("job",),
        "No readings come in",
        "The agents of {{ $labels.job }} have read nothing for {{ $value | humanizeDuration }}.",
        "The input topic is silent, or no partition is assigned to anybody: for half an hour, or "
        "for as long as a policy waits for silent meters (`grace` and `idle`, or `delay`), if that "
        "is longer.",
        (
            "Is `meteragent_ready` 1? If not, look at the other alerts first.",
            "Does the head-end write to the topic that `kafka.input` names?",
        ),
    ),
    Alert(
        "MeterAgentGroupsWait",
        "max by (job, policy) (meteragent_group_panes_waiting)",
        ">",
        0,
        "30m",
        WARNING,
        ("job", "policy"),
        "Groups are stalled",
        "{{ $value }} panes of the groups of {{ $labels.policy }} wait for a partition.",
        "A pane of a group is decided when every partition of the input that has members of it "
        "has passed it, and by nothing else. One of them has stalled, so nothing is released for "
        "any group with a home in it; nothing is lost.",
        (
            (
                "*Partitions waited for* on the dashboard *Groups of homes* shows which partitions "
                "of the input hold them up; it is `meteragent_group_waits_for`."
            ),
            (
                'Is an instance working on them? See `meteragent_partitions{work="homes"}`, '
                "and that instance's log."
            ),
            "Is the brokers' clock trusted? If nothing is read, only that clock lets panes pass.",
        ),
    ),
    Alert(
        "MeterAgentMembersRefused",
        "sum by (job, outcome) (max by (job, outcome, work) (meteragent_group_memberships{work="
        '"homes", outcome=~"refused|damaged|too_soon"}))',
        ">",
        0,
        "0m",
        WARNING,
        ("job", "outcome"),
        "Group memberships are refused",
        "{{ $value }} memberships or records of members do not count ({{ $labels.outcome }}).",
        "Sums of groups go on without them: `homes` in a release says how many members count. "
        "The promise to each home holds.",
        (
            (
                "`refused`: a home is, or was within the horizon, in groups that together may "
                "spend more than it reserves. Raise `budget.groups`, or take it out of one; "
                "`meteragent explain --meter ID --groups groups.csv` shows the groups of one home."
            ),
            (
                "`too_soon`: a record changed what begins sooner than `kafka.groups_lead`; "
                "`meteragent topics members` writes records that are in time."
            ),
            "`damaged`: somebody else writes to `kafka.groups`; only that command should.",
        ),
    ),
    Alert(
        "MeterAgentPartialsRefused",
        lately('meteragent_rejects_total{reason=~"late_partial|other_members"}'),
        ">",
        0,
        "0m",
        WARNING,
        INSTANCE,
        "Partial sums of groups are refused",
        "{{ $labels.instance }} has refused partial sums from partitions of the input.",
        "Partials of panes that are already decided are late: they do not count, and nothing is "
        "released again. Partials with other members than this instance knows are refused, and "
        "their windows are withheld as lost.",
        (
            (
                "Which? *Partial sums refused* on the dashboard *Groups of homes*, or `sum by "
                "(reason) (increase(meteragent_rejects_total[1h]))`; the status page says it too."
            ),
            (
                "`other_members`: have all instances read the same members? An instance reads "
                "them when it starts; `kafka.groups_lead` must be longer than that takes "
                "everywhere."
            ),
            "`late_partial`: was the ledger of homes lost, or the input read again from far back?",
        ),
    ),
    Alert(
        "MeterAgentInputBlocked",
        "max by (job, instance, partition) (meteragent_partition_blocked_seconds)",
        ">",
        60,
        "0m",
        WARNING,
        ("job", "instance", "partition"),
        "A transaction upstream holds readings back",
        "A transaction in partition {{ $labels.partition }} has been open for "
        "{{ $value | humanizeDuration }}; nothing behind it can be read.",
        "A producer has begun a transaction on the input and not ended it. Readings "
        "behind it wait, and with them the windows that they close; nothing is lost.",
        (
            (
                "`kafka-transactions.sh find-hanging` names the producer; has it died, or does it "
                "write very large transactions?"
            ),
            (
                "The brokers abort it after its `transaction.timeout.ms`, 15 minutes at most by "
                "default; `kafka-transactions.sh abort` does it now."
            ),
        ),
    ),
    Alert(
        "MeterAgentSchemaAwaited",
        "max by (job, instance, partition) (meteragent_partition_schema_wait_seconds)",
        ">",
        30,
        "0m",
        WARNING,
        ("job", "instance", "partition"),
        "Waiting for a schema",
        "Partition {{ $labels.partition }} has not read on for {{ $value | humanizeDuration }}: "
        "the schema of its next records is not known.",
        "The schema registry does not answer, or does not know the id that a record names. "
        "Readings behind it wait, and with them the windows that they close; nothing is lost.",
        (
            "`meteragent check` says whether the registry answers, and lets the agent in.",
            (
                "It answers, and the partition still waits: does a sender use another registry, or "
                "was a schema deleted? Register it again under its id, or reject such records: "
                '`kafka.registry.unknown = "reject"`.'
            ),
        ),
    ),
    Alert(
        "MeterAgentReadingsLate",
        "((job:meteragent_readings_late:ratio_rate10m > job:meteragent_readings_late:ratio_rate1d) "
        "or job:meteragent_readings_late:ratio_rate1d)",
        ">",
        0.05,
        "10m",
        WARNING,
        ("job",),
        "Many readings come late",
        "{{ $value | humanizePercentage }} of the readings that {{ $labels.job }} takes in come "
        "after their windows have closed, and are dropped: lately, or within a day.",
        "A window is released once, so what comes after it has closed cannot count any more. "
        "Windows then hold fewer readings than were sent, or are withheld as too thin.",
        (
            (
                "Does the head-end deliver late by habit, for example once a day? Then write "
                '`delay = "36h"` in the policy, and see that the input is kept for as long.'
            ),
            (
                "Has one meter, or a gateway, a clock that is ahead? It closes windows of its own "
                "at once; `agent.max_skew` says how far ahead of a record it may be."
            ),
        ),
    ),
    Alert(
        "MeterAgentClockNotTrusted",
        "min by (job, instance) (meteragent_clock_trusted)",
        "==",
        0,
        "2m",
        WARNING,
        INSTANCE,
        "Clock differs from the brokers'",
        "On {{ $labels.instance }} no clock closes windows: its own differs from the brokers', or "
        "it has not heard the brokers' time for a while.",
        "Windows of meters that fall silent close by the brokers' time, which each agent asks for "
        "once a second, in the ledger topic. Where this machine's clock differs from it by more "
        "than `agent.max_skew`, one of them is wrong, and nobody knows which: readings alone "
        "close windows then. No reading becomes late by it; windows of silent meters wait, "
        "and the instance is not ready.",
        (
            (
                "`meteragent_clock_ahead_seconds`: is one instance ahead or behind? Set its "
                "machine's clock (chrony, systemd-timesyncd)."
            ),
            (
                "All of them, by the same? Then it is a broker's: the leader of the ledger's "
                "partition. Its records are stamped wrong too, so fix it soon."
            ),
            (
                "`meteragent_clock_age_seconds` rises? The log's `clock failed` says why the "
                "ledger topic cannot be written to."
            ),
        ),
    ),
)
