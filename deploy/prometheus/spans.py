"""Rates of what moves once a window: over two windows of the policy, however long they are.

A counter of daily windows moves once a day: its rate over a quarter of an hour is nothing but for
that one quarter, and a ratio of two such rates is no number. PromQL takes no range from a series:
so each policy is looked at over the shortest of a few ranges that holds two of its hops. What is
kept for a shorter time (15 days, unless set otherwise) is looked at as far as it goes.
"""

HOP = "meteragent_policy_hop_seconds"
HOUR, DAY, WEEK = 3600, 86_400, 604_800
SHORTEST = 900
SPANS = ((HOUR, "2h"), (DAY, "2d"), (WEEK, "2w"))
"""Hops of so many seconds at most, and over what."""
LONGEST = "62d"


def of_windows(counter: str, shortest: str, hop: str = HOP) -> str:
    """The rate per second of a counter of windows; over `shortest` where they are short."""
    classes = [f"rate({counter}[{shortest}]) and on (job, instance, policy) {hop} <= {SHORTEST}"]
    above = SHORTEST
    for most, span in SPANS:
        between = f"{hop} > {above} <= {most}"
        classes.append(f"rate({counter}[{span}]) and on (job, instance, policy) {between}")
        above = most
    classes.append(f"rate({counter}[{LONGEST}]) and on (job, instance, policy) {hop} > {above}")
    return " or ".join(f"({one})" for one in classes)
