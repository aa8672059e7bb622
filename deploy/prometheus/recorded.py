"""What is worked out beforehand: the questions that alerts, and people, ask again and again."""

from deploy.prometheus.model import Recorded
from deploy.prometheus.spans import of_windows

METERS = 'sum by (job, policy) (meteragent_meters{work!="homes"})'
"""Of groups, these; and not the homes that they are summed of."""
LATELY = "30m"
"""Where windows are short."""


def per_second(counter: str, by: str = "job, policy") -> str:
    """Of a counter that moves with windows."""
    return f"sum by ({by}) ({of_windows(f'meteragent_{counter}', LATELY)})"


CLOSED = per_second("windows_closed_total")
THIN = per_second('windows_suppressed_total{reason=~"coverage|homes"}')
WINDOW_COSTS = "sum by (job, policy) (max by (job, policy, query) (meteragent_release_epsilon))"
HORIZON = "max by (job, policy) (meteragent_policy_horizon_seconds)"
BUDGET = "max by (job, policy) (meteragent_policy_budget_epsilon)"

RECORDED = (
    Recorded(
        "job_policy:meteragent_epsilon_spent_per_meter:rate_of_windows",
        f"{per_second('epsilon_spent_total')} / {METERS}",
    ),
    Recorded(
        "job_policy:meteragent_budget_demand:ratio_of_windows",
        f"({CLOSED} - {THIN}) * {WINDOW_COSTS} / {METERS} * {HORIZON} / {BUDGET}",
    ),
    Recorded(
        "job_policy:meteragent_budget_exhaustion_seconds:min",
        "min by (job, policy) (meteragent_budget_exhaustion_seconds)",
    ),
    Recorded(
        "job_policy:meteragent_meters_exhausted:ratio",
        f'sum by (job, policy) (meteragent_meters_exhausted{{work!="homes"}}) / {METERS}',
    ),
    Recorded(
        "job_policy_reason:meteragent_windows_suppressed:ratio_of_windows",
        f"{per_second('windows_suppressed_total', by='job, policy, reason')} "
        f"/ on (job, policy) group_left () {CLOSED}",
    ),
    Recorded(
        "job_reason:meteragent_rejects:ratio_rate1h",
        "sum by (job, reason) (rate(meteragent_rejects_total[1h])) "
        "/ on (job) group_left () sum by (job) (rate(meteragent_records_total[1h]))",
    ),
    Recorded(
        "job:meteragent_readings_late:ratio_rate10m",
        'sum by (job) (rate(meteragent_readings_total{outcome="late"}[10m])) '
        "/ sum by (job) (rate(meteragent_readings_total[10m]))",
    ),
    Recorded(
        "job:meteragent_readings_late:ratio_rate1d",
        'sum by (job) (rate(meteragent_readings_total{outcome="late"}[1d])) '
        "/ sum by (job) (rate(meteragent_readings_total[1d]))",
    ),
    Recorded(
        "job_instance:meteragent_transactions_abandoned:ratio_rate30m",
        'sum by (job, instance) (rate(meteragent_transactions_total{result="abandoned"}[30m])) '
        "/ sum by (job, instance) (rate(meteragent_transactions_total[30m]))",
    ),
    Recorded(
        "job:meteragent_catch_up_seconds:ratio_rate5m",
        "sum by (job) (meteragent_partition_lag_records) "
        "/ sum by (job) (rate(meteragent_records_total[5m]))",
    ),
)
