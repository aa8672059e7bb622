"""PromQL by short names, as the dashboards' panels ask for it.

    rate("records")            per second, of this dashboard's job and instances
    window_rate("released")    the same of what moves once a window, over two windows or more
    gauge("meters")            as it is, of this dashboard's policies where it has any
    of_sums(...)               the same of those who add up groups
    total(..., by="policy")    added up

Grafana fills in `$job`, `$instance`, `$policy` and `$__rate_interval`.
"""

from deploy.prometheus.spans import of_windows

OF_POLICIES = (
    *("windows_closed", "windows_released", "windows_suppressed", "released", "epsilon_spent"),
    *("release_delay", "meters", "meter_memory", "windows_open", "budget", "policy", "release"),
    *("group_panes_waiting", "group_waits_for", "groups_decided"),
)
"""How the names of metrics begin that have a policy."""


def gauge(metric: str, **labels: str) -> str:
    """A metric of ours, as it is; labels are patterns."""
    return _chosen(f"meteragent_{metric}", **labels)


def rate(counter: str, **labels: str) -> str:
    """Per second."""
    return f"rate({_chosen(f'meteragent_{counter}_total', **labels)}[$__rate_interval])"


def window_rate(counter: str, **labels: str) -> str:
    """Per second, of a counter that moves when windows end: over as long as these last."""
    return _of_windows(f"meteragent_{counter}_total", **labels)


def _of_windows(metric: str, **labels: str) -> str:
    pace = gauge("policy_pace_seconds")
    return of_windows(_chosen(metric, **labels), "$__rate_interval", pace)


def increase(counter: str, **labels: str) -> str:
    """Over an interval."""
    return f"increase({_chosen(f'meteragent_{counter}', **labels)}[$__rate_interval])"


def process(metric: str) -> str:
    """A metric that every process has, of those that are ours."""
    return f"{_chosen(f'process_{metric}')} {_OURS}"


def process_rate(counter: str) -> str:
    """Per second, of a counter that every process has."""
    return f"rate({_chosen(f'process_{counter}')}[$__rate_interval]) {_OURS}"


def with_unit(expression: str) -> str:
    """Beside each number of a policy the unit that it is in: watts, var or litres an hour."""
    both = "on (job, instance, work, policy) group_left (unit)"
    return f"{expression} * {both} {gauge('policy_info')}"


def of_sums(expression: str) -> str:
    """Of those who add up what is told of homes: what an expression has of meters is left out."""
    known = gauge("group_memberships", outcome="members", work="|groups")
    return f"{expression} and on (job, instance, work) {known}"


def total(expression: str, by: str = "") -> str:
    """Added up, for each value of the labels `by`."""
    return f"sum{_by(by)} ({expression})"


def largest(expression: str, by: str = "") -> str:
    """The largest, for each value of the labels `by`."""
    return f"max{_by(by)} ({expression})"


def smallest(expression: str, by: str = "") -> str:
    """The smallest, for each value of the labels `by`."""
    return f"min{_by(by)} ({expression})"


def quantile(share: float, histogram: str) -> str:
    """What so many of the observations of a histogram stayed within: lately, or within a day.

    Where a head-end collects once a day, nothing is observed in the hours between.
    """
    buckets = _chosen(f"meteragent_{histogram}_bucket")
    lately, of_a_day = (
        f"histogram_quantile({share}, sum by (le) (rate({buckets}[{span}])))"
        for span in ("$__rate_interval", "1d")
    )
    return f"({lately} >= 0 or {of_a_day})"


def window_quantile(share: float, histogram: str, by: str) -> str:
    """The same of a histogram of windows, over as long as these last."""
    buckets = _of_windows(f"meteragent_{histogram}_bucket")
    return f"histogram_quantile({share}, sum by (le, {by}) ({buckets}))"


def _by(labels: str) -> str:
    return f" by ({labels})" if labels else ""


def _chosen(metric: str, **labels: str) -> str:
    own = metric.removeprefix("meteragent_").startswith(OF_POLICIES)
    wanted = {"job": "$job", "instance": "$instance", **({"policy": "$policy"} if own else {})}
    matchers = [f'{name}=~"{pattern}"' for name, pattern in {**wanted, **labels}.items()]
    if own:  # what sums groups knows their policies too, and releases nothing
        matchers.append('work!="homes"')
    return f"{metric}{{{', '.join(matchers)}}}"


_OURS = f"and on (job, instance) {gauge('ready')}"
