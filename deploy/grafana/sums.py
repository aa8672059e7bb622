"""Panels about the sums of groups: how far they are decided, and what homes add to them."""

from deploy.grafana.expressions import gauge, increase, largest, of_sums, rate, total
from deploy.grafana.layout import Row
from deploy.grafana.panels import Lines, Query
from deploy.grafana.privacy import POLICY

AGE = f"time() - {largest(gauge('groups_decided_until_seconds'), by='policy')}"
WAITING = largest(gauge("group_panes_waiting"), by="policy")
NONE = f'label_replace(0 * {WAITING}, "partition", "none", "", "")'
HOLDING = f"{largest(gauge('group_waits_for'), by='policy, partition')} or {NONE}"


def memberships(outcome: str) -> str:
    """How many, by what became of them: every instance reads all."""
    return largest(gauge("group_memberships", work="homes", outcome=outcome), by="outcome")


PROGRESS = Row(
    "How far",
    (
        Lines(
            "Age of the newest window decided",
            "It rises by a window and falls again. If it only rises, nothing is decided.",
            "s",
            (Query(AGE, "{{policy}}", POLICY),),
            least=0,
        ),
        Lines(
            "Panes held up by policy",
            "A pane is decided when every partition of the input that has members has passed it.",
            "short",
            (Query(WAITING, "{{policy}}", POLICY),),
            least=0,
            decimals=0,
        ),
        Lines(
            "Partitions waited for",
            "Which partitions of the input the next pane waits for, if any: look there for what "
            "has stalled.",
            "short",
            (Query(HOLDING, "{{policy}}: {{partition}}", ("policy", "partition")),),
            least=0,
            decimals=0,
            stacked=True,
            bars=True,
        ),
    ),
)

TOLD = Row(
    "What homes add",
    (
        Lines(
            "Readings of homes",
            "Records read per second for the sums of groups, by instance.",
            "rps",
            (
                Query(
                    total(rate("records", work="homes"), by="instance"),
                    "{{instance}}",
                    ("instance",),
                ),
            ),
            width=6,
            least=0,
            stacked=True,
        ),
        Lines(
            "Partial sums",
            "Records per second in which partitions of the input report about their homes, as "
            "they are added up, by instance.",
            "rps",
            (Query(total(of_sums(rate("records")), by="instance"), "{{instance}}", ("instance",)),),
            width=6,
            least=0,
            stacked=True,
        ),
        Lines(
            "Partial sums refused",
            "In the last minutes, by reason. An instance that knows other members than the rest "
            "has its sums refused; late and repeated ones had been decided, or reported, before.",
            "short",
            (
                Query(
                    total(
                        increase("rejects_total", reason="other_members|.+_partial"), by="reason"
                    ),
                    "{{reason}}",
                    ("reason",),
                ),
            ),
            width=6,
            least=0,
            stacked=True,
            bars=True,
        ),
        Lines(
            "Memberships",
            "What became of them when they were last read: those that take effect, those that "
            "begin later than asked, and those that do not.",
            "short",
            (Query(memberships(".+"), "{{outcome}}", ("outcome",)),),
            width=6,
            least=0,
            decimals=0,
        ),
    ),
)
