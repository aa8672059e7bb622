"""`ledger`: what meters have spent, and where it is written down."""

import asyncio
import os
import sys
from argparse import Namespace

from meteragent.config import load
from meteragent.exits import Exit
from meteragent.kafka.migrate import migrate


def run(arguments: Namespace) -> Exit:
    """Move accounts to where their meters' readings are now."""
    moved = asyncio.run(migrate(load(arguments.config, os.environ)))
    sys.stdout.write(f"{moved} accounts moved\n")
    return Exit.OK
