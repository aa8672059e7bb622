"""What one home's readings are to a group: a policy of meters that tells of a load no less.

A group takes of each home the average of every pane. Of a load that a pane holds as a whole this
moves by the load's energy alone, and not by its watts, as a reading would. Where no reading is
missing, what releases of the group tell of a load in one home is told by this policy too.
"""

from dataclasses import replace

from meteragent.privacy.group import GroupPolicy
from meteragent.privacy.policy import Policy
from meteragent.privacy.query import NAMED, Query, query
from meteragent.privacy.question import Question
from meteragent.privacy.units import format_duration

_AVERAGE = NAMED["avg"]


def of_one_home(policy: Policy) -> Policy:
    """The same of meters; and a policy for which there is no such one is its own.

    Postcondition: no answer of a group moves farther for what happens in a home that misses no
    reading than this policy says that its answers do.
    """
    if not isinstance(policy, GroupPolicy) or any(
        asked.query.about.part or asked.query.per_slot for asked in policy.questions
    ):
        return policy
    return Policy(
        domain=policy.home.domain,
        questions=tuple(
            Question(_of_readings(asked.query, policy), asked.nano) for asked in policy.questions
        ),
        size=policy.size,
        interval=policy.homes.interval,
        hop=policy.hop,
        grace=policy.grace,
        idle=policy.idle,
        budget=policy.budget,
        horizon=policy.horizon,
        presence=policy.presence,
        on_exhausted=policy.on_exhausted,
        noise=policy.noise,
        offset=policy.offset,
        calendar=policy.calendar,
    )


def _of_readings(asked: Query, policy: GroupPolicy) -> Query:
    """The query of readings that moves as far as one of panes, or farther."""
    if policy.slots == 1:  # whatever is asked is the average; layers move no farther together
        return replace(_AVERAGE, name=asked.name)
    if asked == _AVERAGE:
        return replace(asked, name="avg of panes", moved=_rounded_twice)
    return replace(query(f"{asked.name}({format_duration(policy.interval)})"), name=asked.name)


def _rounded_twice(covered: int, held: int, levels: int) -> int:
    """Each pane's average is rounded, and theirs again: that is a level more at most."""
    return min(levels, _AVERAGE.moved(covered, held, levels) + 1)
