"""Steps of a pipeline -> what is told of the windows that they decide."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from meteragent.stream.releases import Step
from meteragent.watch.events import WindowsDecided


class Verdicts:
    """The windows of one stage, put together by their policies.

    Once for a stage, and in the order of their ids: how many steps it takes, and which is first,
    may depend on who was heard.
    """

    def __init__(self, partition: int) -> None:
        self._partition = partition
        self._of: dict[str, WindowsDecided] = {}

    def add(self, step: Step) -> None:
        """Add those of a step, where any is over."""
        if not step.releases.meters:
            return
        event = _decided(self._partition, step)
        before = self._of.setdefault(event.policy, event)
        if before is not event:
            self._of[event.policy] = replace(
                event,
                windows=before.windows + event.windows,
                released={q: n + before.released[q] for q, n in event.released.items()},
                withheld=Counter(before.withheld) + Counter(event.withheld),
                spent={q: n + before.spent[q] for q, n in event.spent.items()},
                newest_end=max(before.newest_end, event.newest_end),
            )

    def events(self) -> Iterator[WindowsDecided]:
        """One for each policy."""
        return (self._of[policy] for policy in sorted(self._of))


def _decided(partition: int, step: Step) -> WindowsDecided:
    releases = step.releases
    names = [question.query.name for question in releases.policy.questions]
    paid = releases.paid()
    return WindowsDecided(
        partition,
        releases.policy.id,
        len(releases.meters),
        dict(zip(names, releases.released.sum(axis=0).tolist(), strict=True)),
        releases.reasons,
        {charge.name: charge.cost * paid[charge.name] for charge in releases.policy.charges},
        int(releases.ends.max()),
    )
