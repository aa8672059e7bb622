"""Alerts about an agent's life: that it runs, gets its partitions back, and loses nothing by it."""

from deploy.prometheus.model import CRITICAL, INSTANCE, WARNING, Alert, lately

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
                "6 rights, 9 topics, **10 a ledger that was lost**, 11 one of somebody else, 12 a "
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
        "/healthz says 503, so its supervisor will restart it; all it holds is rebuilt "
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
        "Processes keep ending",
        "Processes of {{ $labels.instance }} have ended more than twice within the last hour.",
        "Where `agent.processes` is more than one, a process that ends is restarted, and the "
        "others work on its partitions meanwhile: nothing is lost, but each end delays releases.",
        (
            (
                "`process ended` in the log gives the signal or the exit code. Signal 9 "
                "is usually the kernel running out of memory: `deploy/operations.md` says what a "
                "meter takes, and how many processes share it."
            ),
            "Exit code 1 is our bug: the line before says where; please report it.",
            "Exit code 0 means that somebody stopped it: signal the first process only.",
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
        "Partitions are stuck restoring",
        "{{ $value }} partitions of {{ $labels.instance }} have been restoring for 15 minutes.",
        "A partition reads the accounts of its meters back from the ledger topic before it goes "
        "on. A million meters take about a minute; until then their windows wait.",
        (
            (
                "Is it slow or stuck? See `rate(meteragent_restored_meters_total[5m])` and the "
                "network traffic of the brokers."
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
        "Readings for open windows were deleted",
        "{{ $labels.instance }} came back too late for some records: Kafka had deleted them.",
        "Open windows are rebuilt by reading their records again. These were past the input's "
        "retention, so their windows will hold fewer readings than were sent, or none.",
        (
            "The promise holds: what is missing was missing before any noise was drawn.",
            "Find out why the agent was away for so long, or why retention is so short.",
            (
                "Retention must exceed pane + grace + idle by the longest outage that you want "
                "to survive; `meteragent check` says the minimum."
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
)
