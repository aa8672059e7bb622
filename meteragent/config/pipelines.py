"""The pipeline of meters that a configuration asks for: one for a partition, a file or a table."""

from collections.abc import Callable, Sequence

from meteragent.config.model import Config
from meteragent.privacy.entropy import NoiseKey
from meteragent.stream.meters import Assigned
from meteragent.stream.pipeline import Pipeline
from meteragent.stream.position import START, Position


def of_meters(
    config: Config,
    key: NoiseKey,
    assigned: Sequence[Assigned] | None = None,
    *,
    start: Position = START,
    at_home: Callable[[str], bool] = lambda _: True,
) -> Pipeline:
    """One that goes on from `start`; its accounts are still to be restored.

    `assigned`: the policies, where they are not just those of the configuration.
    """
    agent = config.agent
    return Pipeline(
        config.assigned if assigned is None else assigned,
        key,
        max_skew=agent.max_skew,
        max_meters=agent.max_meters,
        normalise_ids=agent.normalise_ids,
        at_home=at_home,
        start=start,
    )
