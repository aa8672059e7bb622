"""Panels about what is promised, and what one answer is worth: tables.

A policy is about power, reactive power or a flow: its numbers stand beside their unit.
"""

from deploy.grafana.expressions import gauge, largest, total, with_unit
from deploy.grafana.layout import Row
from deploy.grafana.panels import Column, Table

QUIET = "none"

OF_RELEASE, OF_POLICY = "policy, query, unit", "policy, job, unit"


def _release(name: str, metric: str, decimals: int | None = None) -> Column:
    """What is known of each answer."""
    return Column(name, QUIET, largest(with_unit(gauge(metric)), by=OF_RELEASE), decimals)


def _policy(name: str, metric: str, decimals: int | None = None, unit: str = QUIET) -> Column:
    """What is known of each policy."""
    return Column(name, unit, largest(with_unit(gauge(metric)), by=OF_POLICY), decimals)


PER_RELEASE = (
    _release("epsilon", "release_epsilon", 3),
    _release("noise scale", "release_noise_scale_watts"),
    _release("mean error", "release_expected_error_watts"),
    _release("9 of 10 within", "release_p90_error_watts"),
    _release("bits at most", "release_leakage", 2),
    _release("a guess gains", "release_capacity_ratio", 1),
)
PER_POLICY = (
    _policy("window", "policy_window_seconds", 0, "s"),
    _policy("radius", "policy_radius_watts"),
    _policy("horizon", "policy_horizon_seconds", 0, "s"),
    _policy("budget", "policy_budget_epsilon", 2),
    _policy("a horizon", "policy_horizon_epsilon", 2),
    _policy("any other", "policy_any_horizon_epsilon", 2),
    Column("meters", "short", total(with_unit(gauge("meters")), by=OF_POLICY), 0),
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
            "most exp(any other). The radius is in the policy's unit.",
            QUIET,
            width=12,
            height=7,
            columns=PER_POLICY,
            by=("policy", "job", "unit"),
        ),
        Table(
            "What one answer means",
            "For each answer of a window: its cost at the radius, how far it is off, and the "
            "most it can tell somebody who knows everything else. Noise and errors are in the "
            "policy's unit. Noise falls to 1/e over its scale; a guess gains at most that many "
            "times the chance. Where all answers of a window share one draw, what they cost and "
            "tell together is shown as joint.",
            QUIET,
            width=12,
            height=7,
            columns=PER_RELEASE,
            by=("policy", "query", "unit"),
        ),
    ),
)
