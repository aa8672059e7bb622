"""Panels about what is promised, and what one answer is worth: tables."""

from deploy.grafana.expressions import gauge, largest, total
from deploy.grafana.layout import Row
from deploy.grafana.panels import Column, Table

QUIET = "none"

PER_RELEASE = (
    Column("epsilon", QUIET, largest(gauge("release_epsilon"), by="policy, query"), 3),
    Column(
        "noise scale",
        "watt",
        largest(gauge("release_noise_scale_watts"), by="policy, query"),
        0,
    ),
    Column(
        "mean error", "watt", largest(gauge("release_expected_error_watts"), by="policy, query"), 0
    ),
    Column(
        "9 of 10 within", "watt", largest(gauge("release_p90_error_watts"), by="policy, query"), 0
    ),
    Column("bits at most", QUIET, largest(gauge("release_leakage"), by="policy, query"), 2),
    Column(
        "a guess gains",
        QUIET,
        largest(gauge("release_capacity_ratio"), by="policy, query"),
        1,
    ),
)
PER_POLICY = (
    Column("window", "s", largest(gauge("policy_window_seconds"), by="policy, job"), 0),
    Column("radius", "watt", largest(gauge("policy_radius_watts"), by="policy, job"), 0),
    Column("horizon", "s", largest(gauge("policy_horizon_seconds"), by="policy, job"), 0),
    Column("budget", QUIET, largest(gauge("policy_budget_epsilon"), by="policy, job"), 2),
    Column("a horizon", QUIET, largest(gauge("policy_horizon_epsilon"), by="policy, job"), 2),
    Column("any other", QUIET, largest(gauge("policy_any_horizon_epsilon"), by="policy, job"), 2),
    Column("meters", "short", total(gauge("meters"), by="policy, job"), 0),
)

GUARANTEE = Row(
    "Privacy guarantee",
    (
        Table(
            "Policies",
            "Someone weighing two worlds that differ by at most the radius, in every reading "
            "of a horizon that starts or ends with a window, sees their odds change by at "
            "most exp(a horizon), which is never more than exp(budget). In a stretch as "
            "long that begins elsewhere, and so touches one window more, they change by at "
            "most exp(any other).",
            QUIET,
            width=12,
            height=7,
            columns=PER_POLICY,
            by=("policy", "job"),
        ),
        Table(
            "What one answer means",
            "For each answer of a window: its cost at the radius, how far it is off, and "
            "the most it can tell to whoever knows everything else. Noise falls to 1/e "
            "over its scale; a guess gains at most that many times the chance. Where all "
            "answers of a window share one draw, what they cost and tell together stands "
            "at joint.",
            QUIET,
            width=12,
            height=7,
            columns=PER_RELEASE,
            by=("policy", "query"),
        ),
    ),
)
