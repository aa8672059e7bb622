"""What is worked out beforehand: the questions that alerts, and people, ask again and again."""

from deploy.prometheus.model import Recorded

METERS = "sum by (job, policy) (meteragent_meters)"
CLOSED = "sum by (job, policy) (rate(meteragent_windows_closed_total[{over}]))"
THIN = 'sum by (job, policy) (rate(meteragent_windows_suppressed_total{reason="coverage"}[5m]))'
WINDOW_COSTS = "sum by (job, policy) (max by (job, policy, query) (meteragent_release_epsilon))"
HORIZON = "max by (job, policy) (meteragent_policy_horizon_seconds)"
BUDGET = "max by (job, policy) (meteragent_policy_budget_epsilon)"

RECORDED = (
    Recorded(
        "job_policy:meteragent_epsilon_spent_per_meter:rate5m",
        f"sum by (job, policy) (rate(meteragent_epsilon_spent_total[5m])) / {METERS}",
    ),
    Recorded(
        "job_policy:meteragent_budget_demand:ratio_rate5m",
        f"({CLOSED.format(over='5m')} - {THIN}) * {WINDOW_COSTS} / {METERS} * {HORIZON} / {BUDGET}",
    ),
    Recorded(
        "job_policy:meteragent_budget_exhaustion_seconds:min",
        "min by (job, policy) (meteragent_budget_exhaustion_seconds)",
    ),
    Recorded(
        "job_policy:meteragent_meters_exhausted:ratio",
        f"sum by (job, policy) (meteragent_meters_exhausted) / {METERS}",
    ),
    Recorded(
        "job_policy_reason:meteragent_windows_suppressed:ratio_rate15m",
        "sum by (job, policy, reason) (rate(meteragent_windows_suppressed_total[15m])) "
        f"/ on (job, policy) group_left () {CLOSED.format(over='15m')}",
    ),
    Recorded(
        "job_reason:meteragent_rejects:ratio_rate15m",
        "sum by (job, reason) (rate(meteragent_rejects_total[15m])) "
        "/ on (job) group_left () sum by (job) (rate(meteragent_records_total[15m]))",
    ),
    Recorded(
        "job:meteragent_readings_late:ratio_rate10m",
        'sum by (job) (rate(meteragent_readings_total{outcome="late"}[10m])) '
        "/ sum by (job) (rate(meteragent_readings_total[10m]))",
    ),
    Recorded(
        "job_instance:meteragent_transactions_abandoned:ratio_rate10m",
        'sum by (job, instance) (rate(meteragent_transactions_total{result="abandoned"}[10m])) '
        "/ sum by (job, instance) (rate(meteragent_transactions_total[10m]))",
    ),
    Recorded(
        "job:meteragent_catch_up_seconds:ratio_rate5m",
        "sum by (job) (meteragent_partition_lag_records) "
        "/ sum by (job) (rate(meteragent_records_total[5m]))",
    ),
)
