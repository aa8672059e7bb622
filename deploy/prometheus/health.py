"""Alerts about the stream: when an operator should look, and what to do then."""

from deploy.prometheus.model import CRITICAL, WARNING, Alert

INSTANCE = ("job", "instance")


def lately(counter: str) -> str:
    """By how much a counter rose within the last hour, also before it was first scraped."""
    young = "(time() - process_start_time_seconds < bool 3600)"
    return (
        f"sum by (job, instance) (increase({counter}[1h])) "
        f"+ on (job, instance) sum by (job, instance) ({counter}) * on (job, instance) {young}"
    )


ALERTS = (
    Alert(
        "MeterAgentDown",
        'up{job="meteragent"}',
        "==",
        0,
        "2m",
        CRITICAL,
        INSTANCE,
        "An agent cannot be scraped",
        "Prometheus has not reached {{ $labels.instance }} for 2 minutes.",
        "The process has ended, cannot start, or its address is not reachable. While other "
        "instances run, they have taken its partitions over; if it was the last one, nothing is "
        "published, and nothing is lost as long as Kafka keeps the input.",
        (
            (
                "Read the last line of its standard error, and its exit code (`meteragent "
                "--help`): 3 is a setting, **4 the noise key**, 5 brokers that cannot be reached, "
                "6 rights, 9 topics, **10 a ledger that was lost**, 11 one that is another's, 12 a "
                "newer configuration."
            ),
            (
                "`meteragent check -c agent.toml` as the same user on the same machine says what "
                "is wrong, and what to write instead."
            ),
            (
                "If the key is missing, restore *that* key. Do not make a new one: every window "
                "that is then computed again is a second draw on the same secret."
            ),
            "If it runs, look at `http.host`: it listens on loopback unless told otherwise.",
        ),
    ),
    Alert(
        "MeterAgentKeysDiffer",
        "count by (job) (count by (job, fingerprint) (last_over_time(meteragent_key_info[1h])))",
        ">",
        1,
        "0m",
        CRITICAL,
        ("job",),
        "Agents use different noise keys",
        "Within the last hour, {{ $value }} different noise keys were in use in {{ $labels.job }}.",
        "A window that is computed again under another key gets other noise: whoever sees both "
        "releases knows more than was promised. Instances of one group must share one key, and a "
        "key must not be replaced while windows are open.",
        (
            (
                "`count by (instance, fingerprint) (meteragent_key_info)` shows who uses which "
                "key. A fingerprint does not give the key away."
            ),
            "Stop the instances with the wrong key at once, give them the right one, start them.",
            (
                "If the key was replaced on purpose, the alert ends an hour after the last "
                "instance with the old one. Next time stop all instances first, and let the "
                "windows of the old key be decided before."
            ),
        ),
    ),
    Alert(
        "MeterAgentNoProgress",
        "min by (job, instance) (meteragent_alive)",
        "==",
        0,
        "1m",
        CRITICAL,
        INSTANCE,
        "An agent makes no progress",
        "{{ $labels.instance }} has made no progress for longer than agent.progress_deadline.",
        "Its event loop is blocked, the brokers do not answer, or a due commit does not end. "
        "/healthz says 503, so whoever runs the agent will start it anew; all it holds is rebuilt "
        "from Kafka.",
        (
            "Are the brokers there? `meteragent check -c agent.toml` asks them.",
            (
                "Does Kafka hold writes back (quotas, too few replicas in sync, a full disk)? Then "
                "commits stall while reads go on."
            ),
            "If only this instance is stuck, restart it; nothing is lost or published twice.",
        ),
    ),
    Alert(
        "MeterAgentProcessEnds",
        lately("meteragent_process_ends_total"),
        ">",
        2,
        "0m",
        WARNING,
        INSTANCE,
        "Processes of an agent end again and again",
        "Processes of {{ $labels.instance }} have ended more than twice within the last hour.",
        "Where `agent.processes` is more than one, a process that ends is started anew, and the "
        "others work on its partitions meanwhile: nothing is lost, but each end delays releases.",
        (
            (
                "`process ended` in the log says by which signal or with which exit code. Signal 9 "
                "is mostly the kernel's, for want of memory: `deploy/operations.md` says what a "
                "meter takes, and how many processes share it."
            ),
            "Exit code 1 is a mistake of ours: the line before says where; please report it.",
            "Exit code 0 means that somebody else has told it to end: tell the first process only.",
        ),
    ),
    Alert(
        "MeterAgentRestoreStuck",
        'sum by (job, instance) (meteragent_partitions{state=~"fencing|restoring"})',
        ">",
        0,
        "15m",
        WARNING,
        INSTANCE,
        "Partitions do not come back",
        "{{ $value }} partitions of {{ $labels.instance }} have been restoring for 15 minutes.",
        "A partition reads the accounts of its meters back from the ledger topic before it goes "
        "on. A million meters take about a minute; until then their windows wait.",
        (
            (
                "Is it slow or stuck? `rate(meteragent_restored_meters_total[5m])` and the network "
                "traffic of the brokers tell."
            ),
            (
                "Is the ledger topic compacted? `meteragent check -c agent.toml` says so. Without "
                "compaction a restore reads the whole history."
            ),
            "Repeated failures are in the log as `partition failed`, with the place.",
        ),
    ),
    Alert(
        "MeterAgentRestoreLostRecords",
        lately("meteragent_restore_lost_records_total"),
        ">",
        0,
        "0m",
        CRITICAL,
        INSTANCE,
        "Readings of open windows were gone",
        "{{ $labels.instance }} came back too late for some records: Kafka had deleted them.",
        "Open windows are rebuilt by reading their records again. These were past the input's "
        "retention, so their windows will hold fewer readings than were sent, or none.",
        (
            "The promise is not hurt: what is missing is missing before the mechanism.",
            "Find out why the agent was away for so long, or why retention is so short.",
            (
                "Retention must exceed pane + grace + idle by the longest outage that you want "
                "to survive; `meteragent check` knows the least."
            ),
        ),
    ),
    Alert(
        "MeterAgentReleasesOutlived",
        lately("meteragent_releases_outlived_total"),
        ">",
        0,
        "0m",
        WARNING,
        INSTANCE,
        "Releases are deleted as soon as they are written",
        "{{ $labels.instance }} releases windows that ended longer ago than the output keeps "
        "anything.",
        "A release carries the end of its window as its time, and Kafka deletes by that time. What "
        "is released of old readings, in a replay or after a long pause, is then gone before "
        "anybody reads it, though it was paid for; the ledger is right, and a window is not "
        "released again.",
        (
            "Is it a replay? Stop it, and the agents, before more is spent.",
            (
                "Raise `retention.ms` of the output beyond the age of the oldest readings (-1: for "
                "ever); agents see it when they start. `meteragent check` says how long it is."
            ),
            (
                "What is still there can be saved: Kafka deletes whole segments, and looks every "
                "few minutes (`log.retention.check.interval.ms`)."
            ),
        ),
    ),
    Alert(
        "MeterAgentLag",
        "job:meteragent_catch_up_seconds:ratio_rate5m",
        ">",
        600,
        "10m",
        WARNING,
        ("job",),
        "The agents lag behind",
        "What waits in the input of {{ $labels.job }} is {{ $value | humanizeDuration }} of work "
        "at the present rate.",
        "Records come faster than they are taken in, or much has piled up. Windows are decided by "
        "event time, so they stay right; they are only late.",
        (
            (
                "Is the rate of records falling (trouble) or the input rising (growth, a replay)? "
                "See *Records* and *Consumer lag* on the dashboard *Stream health*."
            ),
            (
                "Is one partition alone behind? Then its meters are too many or too busy: more "
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
        "Groups of homes stand still",
        "{{ $value }} panes of the groups of {{ $labels.policy }} wait for a partition.",
        "A pane of a group is decided when every partition of the input that has members of it "
        "has passed it, and by nothing else. One of them stands still, so nothing is released of "
        "any group that has a home in it; nothing is lost.",
        (
            "`meteragent_group_waits_for` names the partitions of the input.",
            (
                'Is somebody at work on them? `meteragent_partitions{work="homes"}` and the log '
                "of whoever has them tell."
            ),
            "Is the brokers' clock trusted? Where nothing is read, it alone lets panes pass.",
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
        "Homes are not in the groups that they are said to be in",
        "{{ $value }} memberships or records of members do not count ({{ $labels.outcome }}).",
        "Sums of groups go on, of the members that do count: `homes` in a release says how many. "
        "Nobody's promise is hurt.",
        (
            (
                "`refused`: a home is, or was within the horizon, in groups that together may "
                "spend more than it reserves. Raise `budget.groups`, or take it out of one; "
                "`meteragent explain --meter ID --groups groups.csv` shows the groups of one home."
            ),
            (
                "`too_soon`: a record changed what begins sooner than `kafka.groups_lead`; "
                "`meteragent topics members` writes such that are in time."
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
        "{{ $labels.instance }} has refused what partitions of the input told of their homes.",
        "Partials of panes that are decided are late: they count in nothing, and nothing is "
        "released again. Partials in which other homes are members than here are refused, and "
        "the windows that they are of are withheld as lost.",
        (
            (
                "Which? `sum by (reason) (increase(meteragent_rejects_total[1h]))`; the status "
                "page says it too."
            ),
            (
                "`other_members`: have all instances read the same members? Who starts reads them "
                "anew; `kafka.groups_lead` must be longer than that takes everywhere."
            ),
            "`late_partial`: was the ledger of homes lost, or the input read again from afar?",
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
        "Nothing behind a transaction in partition {{ $labels.partition }} can be read; it has "
        "not ended for {{ $value | humanizeDuration }}.",
        "Whoever writes to the input in transactions has begun one and not ended it. Readings "
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
        "A schema is awaited",
        "Partition {{ $labels.partition }} has not read on for {{ $value | humanizeDuration }}: "
        "the schema of its next records is not known.",
        "The schema registry does not answer, or does not know the id that a record names. "
        "Readings behind it wait, and with them the windows that they close; nothing is lost.",
        (
            "`meteragent check` says whether the registry answers, and lets the agent in.",
            (
                "It answers, and the partition waits on: has a sender another registry, or was a "
                "schema deleted? Register it again under its id; or let such records be rejected: "
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
        "An agent's clock does not agree with the brokers'",
        "{{ $labels.instance }} lets no clock close windows: its own differs from the brokers', or "
        "it has not learned the brokers' time for a while.",
        "Windows of meters that fall silent close by the brokers' time, which each agent asks for "
        "once a second, in the ledger topic. Where this machine's clock differs from it by more "
        "than `agent.max_skew`, one of them is wrong, and nobody knows which: readings alone "
        "close windows then. Nobody's readings become late by it; windows of silent meters wait, "
        "and the instance is not ready.",
        (
            (
                "`meteragent_clock_ahead_seconds`: is one instance ahead or behind? Set its "
                "machine's clock (chrony, systemd-timesyncd)."
            ),
            (
                "All of them, by the same? Then it is a broker's: the leader of the ledger's "
                "partition. Its records are stamped wrong too, so mend it soon."
            ),
            (
                "`meteragent_clock_age_seconds` rises? The log's `clock failed` says why the "
                "ledger topic cannot be written to."
            ),
        ),
    ),
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
        "very same result. A few come with every rebalance; a steady share means that something "
        "keeps breaking.",
        (
            "The log's `partition failed` names the error and its place.",
            (
                "Fenced producers: two instances believe that they own a partition. Are they in "
                "one group, with session timeouts longer than their pauses?"
            ),
            "Timeouts: is a broker slow, or `kafka.transaction_timeout` shorter than a commit?",
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
        "Something fails again and again",
        "{{ $labels.instance }} has started over {{ $value | humanize }} times within 15 minutes "
        "({{ $labels.kind }}).",
        "After an error the agent throws away what it holds and rebuilds it from Kafka. Once is "
        "ordinary; again and again is not.",
        (
            (
                "`kind` says whose fault it may be: `kafka` the brokers, `system` network, disk or "
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
        "An agent met a bug",
        "{{ $labels.instance }} failed in a way that nobody thought of, and started over.",
        "The error is of a kind that the agent does not expect. It has rebuilt itself, so nothing "
        "is lost, but it may happen again with the same record.",
        (
            (
                "Report the log line `partition failed`: it holds the kind of the error and the "
                "place, and no reading."
            ),
        ),
    ),
)
