"""What may be lost of one home in all: by its own policies, and by all groups that it is in."""

from meteragent.config.model import Config
from meteragent.explain.accounts import Shelf
from meteragent.explain.in_all import Allowance


def allowance(config: Config) -> Allowance:
    """As the configuration has it."""
    tables = (*config.policy, *config.group)
    return Allowance(
        [Shelf(one.match, one.guarantee) for one in config.policy],
        config.reserve.nano if config.group else 0,
        min(one.policy.horizon for one in tables),
        config.budget.radius if config.budget else tables[0].guarantee.radius,
        tables[0].policy.domain.unit,
    )
