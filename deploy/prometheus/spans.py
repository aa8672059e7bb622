"""Rates of what moves once a window: over twice the policy's pace, however slow that is.

A counter of daily windows moves once a day, and so does one of quarter hours that a head-end
collects once a day: its rate over half an hour is nothing but for that one, and a ratio of two such
rates is no number. PromQL takes no range from a series: so each policy is looked at over the
shortest of a few ranges that holds its pace twice. All ranges are looked at, whatever the pace: so
the long ones only at some 300 moments each, or a rule would read millions of samples every time.
Where windows are of months Prometheus must keep as much: what it keeps for a shorter time (15 days,
unless set otherwise) is looked at as far as it goes, and is nothing for half of each month.
"""

PACE = "meteragent_policy_pace_seconds"
SHORTEST, HOUR = 900, 3600
DAY, DAYS, WEEK = 25 * HOUR, 48 * HOUR, 169 * HOUR
"""Where clocks change, a day or a week is an hour longer."""
SPANS = ((HOUR, "2h"), (DAY, "2d:10m"), (DAYS, "4d:20m"), (WEEK, "14d:1h"))
"""Paces of so many seconds at most, over what, and how far its moments are apart."""
LONGEST = "62d:6h"


def of_windows(counter: str, shortest: str, pace: str = PACE) -> str:
    """The rate per second of a counter of windows; over `shortest` where these are short."""
    classes = [f"rate({counter}[{shortest}]) and on (job, instance, policy) {pace} <= {SHORTEST}"]
    above = SHORTEST
    for most, span in SPANS:
        between = f"{pace} > {above} <= {most}"
        classes.append(f"rate({counter}[{span}]) and on (job, instance, policy) {between}")
        above = most
    classes.append(f"rate({counter}[{LONGEST}]) and on (job, instance, policy) {pace} > {above}")
    return " or ".join(f"({one})" for one in classes)
