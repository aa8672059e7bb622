"""What is folded of a policy's windows: single readings, or the averages of parts."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from meteragent.privacy.calendar import AnyWindows
from meteragent.privacy.hours import Hours
from meteragent.privacy.policy import Policy
from meteragent.privacy.windows import Windows


class Grain(NamedTuple):
    """What is folded: single readings, or the averages of parts."""

    windows: AnyWindows
    panes: Windows
    private: bool
    """Whether presence is."""
    keeps_slots: bool
    carried: int
    dtype: np.dtype[np.signedinteger]
    hours: tuple[Hours, ...] = ()
    """What is folded for itself, of registers. Where slots are kept, nothing is: they say it."""

    @classmethod
    def of_readings(cls, policy: Policy) -> "Grain":
        """What queries about readings need."""
        private, dtype = policy.presence == "private", policy.domain.dtype
        keeps, hours = policy.asking.keeps_slots(), _folded(policy, 0)
        return cls(policy.windows, policy.panes, private, keeps, policy.carried, dtype, hours)

    @classmethod
    def of_parts(cls, policy: Policy, part: int) -> "Grain":
        """What queries about the averages of parts of this length need."""
        readings, panes = cls.of_readings(policy), policy.panes
        longer = Windows(part, part, part)
        return readings._replace(
            windows=replace(policy.windows, interval=part),
            panes=longer if part > panes.size else replace(panes, interval=part),
            keeps_slots=policy.asking.keeps_slots(part),
            carried=0,
            hours=_folded(policy, part),
        )


def _folded(policy: Policy, part: int) -> tuple[Hours, ...]:
    if policy.asking.keeps_slots(part):
        return ()
    of_hours = policy.asking.of_hours.items()
    return tuple(hours for about, hours in of_hours if about.part == part)
