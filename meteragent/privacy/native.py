"""The wheel `meteragent-fast`, where it is installed: the same things done, several times as fast.

Whatever it does has a twin in Python, which is the proof of it, and does it where there is no
wheel. Tests hold the two equal.
"""

from typing import Any

try:
    import meteragent_fast
except ImportError:
    wheel: Any = None
else:
    wheel = meteragent_fast

VERSION = "0.2.0"
"""Of the wheel that does as the twins do."""


def fits() -> bool:
    """Whether there is a wheel, and of this version."""
    return wheel is not None and wheel.__version__ == VERSION


def way() -> str:
    """Which way is at work, in words."""
    if wheel is None:
        return "Python"
    if fits():
        return f"meteragent-fast {wheel.__version__}"
    return f"Python, as meteragent-fast {wheel.__version__} is not for this version"
