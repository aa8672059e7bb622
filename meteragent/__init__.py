"""meteragent: exact, optimal d∞-private releases of smart meter readings.

The public names are loaded when they are first used, so that the command line starts fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from meteragent.privacy.domain import Domain as Domain
    from meteragent.privacy.entropy import Entropy as Entropy
    from meteragent.privacy.entropy import NoiseKey as NoiseKey
    from meteragent.privacy.ledger import Ledger as Ledger
    from meteragent.privacy.mechanism import TruncatedGeometric as TruncatedGeometric
    from meteragent.privacy.terms import Terms as Terms
    from meteragent.privacy.windows import Windows as Windows

__version__ = "0.1.0"

_HOME = {
    "Domain": "privacy.domain",
    "Entropy": "privacy.entropy",
    "Ledger": "privacy.ledger",
    "NoiseKey": "privacy.entropy",
    "Terms": "privacy.terms",
    "TruncatedGeometric": "privacy.mechanism",
    "Windows": "privacy.windows",
}

__all__ = [*sorted(_HOME)]  # noqa: PLE0604 - the names are those of _HOME


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the name stands for
    if name not in _HOME:
        raise AttributeError(f"module 'meteragent' has no attribute {name!r}")
    return getattr(import_module(f"meteragent.{_HOME[name]}"), name)
