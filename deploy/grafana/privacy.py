"""Privacy spend: for the data protection officer."""

from deploy.grafana.expressions import gauge, largest, smallest, total, window_rate
from deploy.grafana.guarantee import GUARANTEE
from deploy.grafana.layout import Dashboard, Row
from deploy.grafana.panels import (
    GREEN,
    GREY,
    RED,
    YELLOW,
    Heat,
    Lines,
    Number,
    Query,
)

HOUR = 3600

POLICY = ("policy",)
QUIET = "none"
METERS = total(gauge("meters"), by="policy")
EVERY_METER = f"quantile_over_time(0.5, ({METERS})[1m:5s])"
"""Undisturbed by partitions on their way from one instance to another: none has them, or two."""
HORIZON = largest(gauge("policy_horizon_seconds"), by="policy")
BUDGET = largest(gauge("policy_budget_epsilon"), by="policy")
SPENT = total(window_rate("epsilon_spent"), by="policy")
WINDOW_COSTS = total(largest(gauge("release_epsilon"), by="policy, query"), by="policy")
CLOSED = total(window_rate("windows_closed"), by="policy")
ASKED = f"({CLOSED} - {total(window_rate('windows_suppressed', reason='coverage'), by='policy')})"


def on_policy(left: str, operator: str, right: str) -> str:
    """Two results, policy by policy."""
    return f"{left} {operator} on (policy) {right}"


ASKED_EACH = on_policy(on_policy(ASKED, "*", WINDOW_COSTS), "/", EVERY_METER)
DEMAND = on_policy(on_policy(ASKED_EACH, "*", HORIZON), "/", BUDGET)
SPENT_EACH = on_policy(f"{SPENT} * {HOUR}", "/", EVERY_METER)
WITHHELD = on_policy(total(window_rate("windows_suppressed"), by="policy"), "/", CLOSED)
WITHHELD_BY_REASON = (
    f"{total(window_rate('windows_suppressed'), by='policy, reason')} "
    f"/ on (policy) group_left () {CLOSED}"
)


def share_of_meters(count: str) -> str:
    """How many of all meters, between 0 and 1."""
    return on_policy(total(gauge(count), by="policy"), "/", METERS)


def left_of(share: float) -> str:
    """The share of its budget that so many meters have at most: a state, so there is no rate."""
    buckets = total(gauge("budget_remaining_ratio_bucket"), by="policy, le")
    return f"histogram_quantile({share}, {buckets})"


DASHBOARD = Dashboard(
    file="privacy-spend.json",
    title="Privacy spend",
    meaning=(
        "For the data protection officer: how much privacy the published answers cost, how much "
        "of the budget is left, and what is withheld because it is spent. Nothing here depends "
        "on what a meter measured."
    ),
    since="now-24h",
    rows=(
        Row(
            "Now",
            (
                Number(
                    "Meters",
                    "How many meters have an account under each policy.",
                    "short",
                    (Query(METERS, "{{policy}}", POLICY),),
                    width=6,
                ),
                Number(
                    "Remaining budget, 10th percentile",
                    "One meter in ten has this share of its budget left, or less. A policy whose "
                    "budget covers its horizon exactly stands near 0 for good, and is not short.",
                    "percentunit",
                    (Query(left_of(0.1), "{{policy}}", POLICY),),
                    width=6,
                    least=0,
                    most=1,
                    decimals=0,
                ),
                Number(
                    "Time until 10 % run out",
                    "At the present rate, the time until one meter in ten has no budget left for "
                    "its next window. A policy that can go on for ever is not shown.",
                    "dtdurations",
                    (
                        Query(
                            f"{smallest(gauge('budget_exhaustion_seconds'), by='policy')} < +Inf",
                            "{{policy}}",
                            POLICY,
                        ),
                    ),
                    width=6,
                    steps=((None, RED), (HOUR, YELLOW), (24 * HOUR, GREEN)),
                    nothing="never",
                ),
                Number(
                    "Windows withheld",
                    "The share of the windows that ended lately of which nothing was published; of "
                    "windows longer than a quarter of an hour, of the last two or more.",
                    "percentunit",
                    (Query(WITHHELD, "{{policy}}", POLICY),),
                    width=6,
                    steps=((None, GREEN), (0.01, YELLOW), (0.05, RED)),
                    decimals=1,
                ),
            ),
        ),
        Row(
            "Where the budget goes",
            (
                Lines(
                    "Spent per meter and hour",
                    "The epsilon, at the policy's radius, that an average meter's published "
                    "answers cost per hour. Of windows longer than a quarter of an hour it is the "
                    "mean of the last two or more.",
                    QUIET,
                    (Query(SPENT_EACH, "{{policy}}", POLICY),),
                    least=0,
                ),
                Lines(
                    "Spent by query",
                    "The same for each question asked of a window: which of them is expensive. "
                    "Those whose answers share one draw are shown together, as joint.",
                    QUIET,
                    (
                        Query(
                            f"{total(window_rate('epsilon_spent'), by='policy, query')} * {HOUR} "
                            f"/ on (policy) group_left () {EVERY_METER}",
                            "{{policy}} {{query}}",
                            ("policy", "query"),
                        ),
                    ),
                    least=0,
                ),
                Lines(
                    "Budget demand",
                    "What the windows that end cost or would cost, as a share of what the budget "
                    "can sustain. Above 100 % some windows will be withheld.",
                    "percentunit",
                    (Query(DEMAND, "{{policy}}", POLICY),),
                    steps=((None, GREY), (1, RED)),
                    limit=True,
                    least=0,
                ),
            ),
        ),
        Row(
            "Remaining budget",
            (
                Heat(
                    "Meters by remaining budget",
                    "How many meters, by the share of their budget left for their next window. "
                    "Darker is more meters; a band that sinks is a fleet that is running out.",
                    "short",
                    (
                        Query(
                            total(gauge("budget_remaining_ratio_bucket"), by="le"),
                            "{{le}}",
                            ("le",),
                        ),
                    ),
                ),
                Lines(
                    "Remaining budget, 10th percentile and median",
                    "One meter in ten, and one in two, has this share of its budget left or less.",
                    "percentunit",
                    (
                        Query(left_of(0.1), "{{policy}} 10th percentile", POLICY),
                        Query(left_of(0.5), "{{policy}} median", POLICY),
                    ),
                    least=0,
                    most=1,
                ),
                Lines(
                    "Meters out of, or low on, budget",
                    "The share of meters with no budget left for their next window, and of those "
                    "with a tenth of their budget or less.",
                    "percentunit",
                    (
                        Query(share_of_meters("meters_exhausted"), "{{policy}} none left", POLICY),
                        Query(
                            share_of_meters("meters_low_budget"), "{{policy}} 10 % or less", POLICY
                        ),
                    ),
                    least=0,
                    most=1,
                ),
            ),
        ),
        Row(
            "Published and withheld",
            (
                Lines(
                    "Windows",
                    "What became of the windows that ended, per second: something published, or "
                    "withheld for lack of budget or of readings.",
                    "ops",
                    (
                        Query(total(window_rate("windows_released")), "published"),
                        Query(
                            total(window_rate("windows_suppressed"), by="reason"),
                            "withheld: {{reason}}",
                            ("reason",),
                        ),
                    ),
                    stacked=True,
                    bars=True,
                    least=0,
                ),
                Lines(
                    "Withheld windows by reason",
                    "The share of windows of which nothing was published: because the budget was "
                    "spent, or because too few readings had come.",
                    "percentunit",
                    (
                        Query(
                            WITHHELD_BY_REASON,
                            "{{policy}} {{reason}}",
                            ("policy", "reason"),
                        ),
                    ),
                    least=0,
                    most=1,
                ),
                Lines(
                    "Answers by query",
                    "Published answers per second. Where a policy releases what it still can, the "
                    "later queries get fewer.",
                    "ops",
                    (
                        Query(
                            total(window_rate("released"), by="policy, query"),
                            "{{policy}} {{query}}",
                            ("policy", "query"),
                        ),
                    ),
                    least=0,
                ),
            ),
        ),
        GUARANTEE,
    ),
)
