"""Groups of homes: how far their sums are decided, what holds them up, and what they cost."""

from dataclasses import replace

from deploy.grafana.expressions import (
    gauge,
    of_sums,
    total,
    window_quantile,
    window_rate,
)
from deploy.grafana.guarantee import PER_RELEASE
from deploy.grafana.layout import Dashboard, Row
from deploy.grafana.panels import GREEN, GREY, RED, YELLOW, Lines, Number, Query, Table
from deploy.grafana.privacy import (
    DEMAND,
    POLICY,
    QUIET,
    SPENT_EACH,
    WITHHELD,
    WITHHELD_BY_REASON,
    on_policy,
    share_of_meters,
)
from deploy.grafana.sums import AGE, PROGRESS, TOLD, WAITING, memberships

GROUPS = total(of_sums(gauge("meters")), by="policy")
"""How many there are of each policy: what is on the policies of meters has no place here."""
DOUBTFUL = "refused|damaged|too_soon"


def of_groups(expression: str) -> str:
    """What is on policies of groups."""
    return on_policy(f"({expression})", "and", GROUPS)


NOW = Row(
    "Now",
    (
        Number(
            "Groups",
            "How many groups are known under each policy: those of which some home was heard.",
            "short",
            (Query(GROUPS, "{{policy}}", POLICY),),
            width=4,
        ),
        Number(
            "Homes in groups",
            "Memberships that take effect; a home that is in two groups has two.",
            "short",
            (Query(memberships("members"), "{{outcome}}", ("outcome",)),),
            width=4,
        ),
        Number(
            "Newest window decided",
            "How long ago the newest decided window of any group ended. This includes grace, "
            "idle and the window's own length.",
            "s",
            (Query(AGE, "{{policy}}", POLICY),),
            width=4,
            steps=((None, GREY),),
            decimals=0,
        ),
        Number(
            "Panes held up",
            "How many panes some partition of the input has reported, and another has not. One "
            "or two come and go; if they stay, MeterAgentGroupsWait says so.",
            "short",
            (Query(WAITING, "{{policy}}", POLICY),),
            width=4,
            steps=((None, GREEN), (4, YELLOW), (24, RED)),
            decimals=0,
        ),
        Number(
            "Group windows withheld",
            "The share of the windows that ended lately of which nothing was published: too few "
            "homes, no budget left, or a part that was lost.",
            "percentunit",
            (Query(of_groups(WITHHELD), "{{policy}}", POLICY),),
            width=4,
            steps=((None, GREEN), (0.01, YELLOW), (0.05, RED)),
            decimals=1,
        ),
        Number(
            "Memberships refused",
            "Homes that do not count in a group that lists them: because they reserve too "
            "little, because the record came too shortly before its window, or because it is "
            "damaged.",
            "short",
            (Query(total(memberships(DOUBTFUL)), "refused"),),
            width=4,
            steps=((None, GREEN), (1, RED)),
            decimals=0,
        ),
    ),
)

PUBLISHED = Row(
    "Published and withheld",
    (
        Lines(
            "Group windows",
            "What became of the windows of groups that ended, per second.",
            "ops",
            (
                Query(
                    of_groups(total(window_rate("windows_released"), by="policy")),
                    "{{policy}} published",
                    POLICY,
                ),
                Query(
                    of_groups(total(window_rate("windows_suppressed"), by="policy")),
                    "{{policy}} withheld",
                    POLICY,
                ),
            ),
            stacked=True,
            bars=True,
            least=0,
        ),
        Lines(
            "Group windows withheld by reason",
            "The share of windows of which nothing was published, by reason.",
            "percentunit",
            (
                Query(
                    of_groups(WITHHELD_BY_REASON),
                    "{{policy}} {{reason}}",
                    ("policy", "reason"),
                ),
            ),
            least=0,
            most=1,
        ),
        Lines(
            "Delay from window end to group release",
            "From the end of a window to its release, by the wall clock, for half and for nearly "
            "all of them. It includes grace and idle, and the slowest partition with members.",
            "s",
            tuple(
                Query(
                    of_groups(window_quantile(share, "release_delay_seconds", "policy")),
                    f"{{{{policy}}}} {words}",
                    POLICY,
                )
                for share, words in ((0.5, "half"), (0.95, "95 %"))
            ),
            least=0,
        ),
    ),
)

SPENDING = Row(
    "What it costs",
    (
        Lines(
            "Spent per group and hour",
            "The epsilon, at the policy's radius, that an average group's published answers cost "
            "each of its homes per hour.",
            QUIET,
            (Query(of_groups(SPENT_EACH), "{{policy}}", POLICY),),
            least=0,
        ),
        Lines(
            "Budget demand of groups",
            "What the windows that end cost or would cost, as a share of what a group's budget "
            "can sustain. Above 100 % some windows will be withheld.",
            "percentunit",
            (Query(of_groups(DEMAND), "{{policy}}", POLICY),),
            steps=((None, GREY), (1, RED)),
            limit=True,
            least=0,
        ),
        Lines(
            "Groups out of, or low on, budget",
            "The share of groups with no budget left for their next window, and of those with a "
            "tenth of their budget or less.",
            "percentunit",
            (
                Query(of_groups(share_of_meters("meters_exhausted")), "{{policy}} none", POLICY),
                Query(
                    of_groups(share_of_meters("meters_low_budget")),
                    "{{policy}} 10 % or less",
                    POLICY,
                ),
            ),
            least=0,
            most=1,
        ),
        Table(
            "What one answer of a group means",
            "For each answer of a window: what it costs each home, how far the sum is off, in the "
            "policy's unit and whatever the number of homes, and the most it can tell to whoever "
            "knows everything else.",
            QUIET,
            width=24,
            height=6,
            columns=tuple(
                replace(column, expression=of_groups(column.expression)) for column in PER_RELEASE
            ),
            by=("policy", "query", "unit"),
        ),
    ),
)

DASHBOARD = Dashboard(
    file="groups.json",
    title="Groups of homes",
    meaning=(
        "For whoever works with feeders and other sums of homes: how far they are decided, which "
        "partitions hold them up, how many homes are in them, and what they cost each home. No "
        "group and no home is named, and nothing depends on what anybody measured."
    ),
    since="now-6h",
    rows=(NOW, PROGRESS, TOLD, PUBLISHED, SPENDING),
)
