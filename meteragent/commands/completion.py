"""`completion`: what a shell reads to complete this program."""

import sys
from argparse import Namespace

from meteragent.commands.exit_codes import Exit
from meteragent.commands.parser import parser
from meteragent.commands.shells import script


def run(arguments: Namespace) -> Exit:
    """Print it."""
    sys.stdout.write(script(arguments.shell, parser()))
    return Exit.OK
