"""`key create`: the only way in which noise keys are made."""

import sys
from argparse import Namespace

from meteragent.commands.exits import Exit
from meteragent.config import keyfile


def run(arguments: Namespace) -> Exit:
    """Make a key where none is."""
    keyfile.create(arguments.path)
    sys.stdout.write(f"{arguments.path}: made; keep a copy as safe as the readings themselves\n")
    return Exit.OK
