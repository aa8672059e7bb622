"""What standard differential privacy would need for the same promise.

It bounds the odds between any two values of a reading, however far apart, by the range of the
domain, and those between two contents by adding up over the readings in which they differ.
The noise itself has nearly the same shape as ours, so equal noise would resist these attackers
equally well: what standard privacy cannot do is to promise it.
"""

from dataclasses import dataclass
from typing import Any

from meteragent.privacy.exact import NANO
from meteragent.privacy.policy import Policy


@dataclass(frozen=True, slots=True)
class Content:
    """Two contents that are to be alike: so far apart, for so long."""

    watts: float
    seconds: float


CONTENTS = {
    "tv-content": Content(60, 4 * 3600),
    "appliances": Content(2000, 3600),
    "presence": Content(300, 24 * 3600),
}
"""By preset: an evening of one film or another, an hour of an oven, a day at home."""


def compared(policy: Policy, hide: str, error: float) -> dict[str, Any]:
    """Log-odds that the policy promises for its content, and the error of Laplace for the same.

    Both release the same answers once a window. A content moves its readings by up to the range,
    so an average by its share of the window of that, which is what group privacy over its
    readings comes to; a percentile moves by all of it.
    """
    content = CONTENTS[hide]
    size = policy.size / 1000
    windows = max(1.0, content.seconds / size)
    share = min(1.0, content.seconds / size)
    moved = [share if asked.query.name == "avg" else 1.0 for asked in policy.questions]
    losses = [asked.nano / NANO for asked in policy.questions]
    each = sum(part * loss for part, loss in zip(moved, losses, strict=True))
    promised = windows * each * content.watts
    wide = float(policy.domain.maximum - policy.domain.minimum)
    needed = windows * sum(moved) * wide / promised
    return {
        "content_watts": content.watts,
        "content_hours": content.seconds / 3600,
        "log_odds": round(promised, 4),
        "range_watts": wide,
        "standard_error_watts": round(needed, 1),
        "times_smaller": round(needed / error, 1),
    }
