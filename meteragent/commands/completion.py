"""`completion`: what a shell reads to complete this program."""

import sys
from argparse import Namespace
from importlib.resources import files

from meteragent.commands.exit_codes import Exit


def run(arguments: Namespace) -> Exit:
    """Print what was written from the parser when this was built."""
    script = files("meteragent") / "commands" / "completions" / f"meteragent.{arguments.shell}"
    sys.stdout.write(script.read_text("utf-8"))
    return Exit.OK
