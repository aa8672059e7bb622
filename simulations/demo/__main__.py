"""`python -m simulations.demo`: ready to be interrupted before it has even loaded."""

import sys

from simulations.demo.interrupts import Interrupts


def main() -> int:
    """What `show` answers with; 130 if somebody did not wait for it."""
    interrupts = Interrupts()
    try:
        from simulations.demo.show import show  # noqa: PLC0415 - it takes its time to load

        return show(interrupts)
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
