"""All that is asked about windows that are over, where folds have kept their slots alone."""

from meteragent.privacy.arrays import Integers
from meteragent.privacy.fill import carried, within
from meteragent.privacy.policy import Policy
from meteragent.privacy.query import READINGS, About, Sums, averages
from meteragent.stream.folds import Contents


def completed(policy: Policy, contents: Contents, starts: Integers) -> Contents:
    """With gaps filled, with averages of parts, and with what is of some hours alone.

    `starts` are when the windows begin.
    """
    found, readings = dict(contents), contents[READINGS]
    if not isinstance(readings, Sums):
        filled = carried(readings, policy.carried)
        if policy.carried:
            filled = within(filled, policy.windows.slots_of(starts))
        found[READINGS] = filled
        for part in policy.asking.parts:
            if About(part) not in found:
                found[About(part)] = averages(filled, part // policy.interval)
    for about, hours in policy.asking.of_hours.items():
        all_hours = found[About(about.part)]
        if not isinstance(all_hours, Sums):
            found[about] = hours.masked(all_hours, starts)
    return found
