"""meteragent: exact, optimal d∞-private releases of smart meter readings.

    import meteragent as ma

    plan = ma.policy("tv-content", interval="1m")
    print(plan.explain())
    released = ma.protect(frame, plan, key="noise.key", ledger="spend.db", value="watts")
    bills = ma.reader.bills(released, plan)

The public names are loaded when they are first used, so that the command line starts fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from meteragent.library import reader as reader
    from meteragent.library.parquet import protect_parquet as protect_parquet
    from meteragent.library.plan import PolicyPlan as PolicyPlan
    from meteragent.library.plan import create_key as create_key
    from meteragent.library.plan import group_policy as group_policy
    from meteragent.library.plan import policies as policies
    from meteragent.library.plan import policy as policy
    from meteragent.library.protect import ReadingsLost as ReadingsLost
    from meteragent.library.protect import protect as protect
    from meteragent.library.simulate import simulate as simulate
    from meteragent.privacy.domain import Domain as Domain
    from meteragent.privacy.entropy import Entropy as Entropy
    from meteragent.privacy.entropy import NoiseKey as NoiseKey
    from meteragent.privacy.ledger import Ledger as Ledger
    from meteragent.privacy.mechanism import TruncatedGeometric as TruncatedGeometric
    from meteragent.privacy.terms import Terms as Terms
    from meteragent.privacy.windows import Windows as Windows

__version__ = "0.2.0"

_HOME = {
    "Domain": "privacy.domain",
    "Entropy": "privacy.entropy",
    "Ledger": "privacy.ledger",
    "NoiseKey": "privacy.entropy",
    "PolicyPlan": "library.plan",
    "ReadingsLost": "library.protect",
    "Terms": "privacy.terms",
    "TruncatedGeometric": "privacy.mechanism",
    "Windows": "privacy.windows",
    "create_key": "library.plan",
    "group_policy": "library.plan",
    "policies": "library.plan",
    "policy": "library.plan",
    "protect": "library.protect",
    "protect_parquet": "library.parquet",
    "reader": "library.reader",
    "simulate": "library.simulate",
}

__all__ = [*sorted(_HOME)]  # noqa: PLE0604 - the names are those of _HOME


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the name stands for
    if name not in _HOME:
        raise AttributeError(f"module 'meteragent' has no attribute {name!r}")
    home = import_module(f"meteragent.{_HOME[name]}")
    return getattr(home, name, home)  # `reader` is a module itself
