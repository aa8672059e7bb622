"""`python -m meteragent` is `meteragent`."""

import sys

from meteragent.cli import main

if __name__ == "__main__":
    sys.exit(main())
