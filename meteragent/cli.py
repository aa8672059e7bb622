"""The command line. What a command needs is imported when it runs, so that `--help` is quick."""

import os
import re
import signal
import sys
from collections.abc import Sequence
from importlib import import_module

from meteragent.commands.exit_codes import Exit, report
from meteragent.commands.parser import parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; answer with its exit code."""
    try:
        given = parser().parse_args(_joined(sys.argv[1:] if arguments is None else arguments))
        if given.command in {
            "run",
            "gateway",
        }:  # it takes a second until the agent listens to signals itself
            signal.signal(signal.SIGTERM, lambda *_: sys.exit())
        code: Exit = import_module(f"meteragent.commands.{given.command}").run(given)
    except SystemExit as told:  # by argparse: it said why
        code = Exit.USAGE if told.code else Exit.OK
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - told by its type
        code = report(error)
    return _flushed(code)


def _joined(arguments: Sequence[str]) -> list[str]:
    """With values such as `-10kW` joined to their options, which argparse takes them for."""
    joined: list[str] = []
    for one in arguments:
        if _NEGATIVE.match(one) and joined and _OPTION.fullmatch(joined[-1]):
            joined[-1] += f"={one}"
        else:
            joined.append(one)
    return joined


_NEGATIVE = re.compile(r"-[0-9.]")
_OPTION = re.compile(r"--[a-z-]+")


def _flushed(code: Exit) -> Exit:
    """The code, unless what the command wrote did not arrive."""
    try:
        sys.stdout.flush()
    except OSError as error:
        # Or Python would try once more at its end, and complain.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
        return code or report(error)
    return code
