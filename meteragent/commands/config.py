"""`config reference`: every setting, from the models that read it."""

import sys
from argparse import Namespace

from meteragent.commands.exit_codes import Exit
from meteragent.config.reference import reference


def run(_: Namespace) -> Exit:
    """Print the reference."""
    sys.stdout.write(reference())
    return Exit.OK
