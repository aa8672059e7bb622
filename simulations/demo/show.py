"""See what meteragent does, in a minute: a street of homes, the agent, and an attacker.

Starts a Kafka broker on this machine and the agent, plays a day of generated homes to it at
high speed, and draws what an attacker makes of a meter's readings and of what is published
instead. Where Java and Maven are missing, `meteragent sanitize` does the agent's work.
"""

import argparse
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from simulations.demo import stage
from simulations.demo.findings import find
from simulations.demo.interrupts import Interrupts
from simulations.demo.picture import draw
from simulations.demo.processes import ROOT, Trouble
from simulations.demo.street import DAY, street
from simulations.demo.table import Table


def show(interrupts: Interrupts) -> int:
    """Everything; 0 if the picture is there, 130 if somebody ended it."""
    given = _arguments()
    with ExitStack() as stack:
        try:
            _show(given, interrupts, stack)
        except Trouble as trouble:
            _say(f"demo: {trouble}")
            code = 1
        except KeyboardInterrupt:
            _say("\nended; nothing is left behind")
            code = 130
        else:
            code = 0
        interrupts.never()
    return code


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="deploy/demo", description=__doc__.partition("\n")[0])
    parser.add_argument("--homes", type=int, default=200, metavar="N", help="default: 200")
    parser.add_argument(
        "--seconds", type=float, default=20, metavar="S", help="that the day takes; default: 20"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the homes; default: 1")
    parser.add_argument(
        "--picture", type=Path, default=ROOT / "out" / "demo.png", metavar="FILE", help="to write"
    )
    parser.add_argument("--no-kafka", action="store_true", help="show `sanitize` instead")
    parser.add_argument("--keep", action="store_true", help="leave broker and agent running")
    return parser.parse_args()


def _show(given: argparse.Namespace, interrupts: Interrupts, stack: ExitStack) -> None:
    midnight = int(time.time() * 1000) // DAY * DAY + DAY  # tomorrow: no clock closes its windows
    homes = street(given.homes, midnight, given.seed)
    with stage.scratch(interrupts, stack) as directory:
        stage.members(homes, directory)
        scene = _scene(given, directory, interrupts, stack)
        if scene.url:
            _say(f"status page  {scene.url}\nmetrics      {scene.url}metrics")
        _say(f"\na day of {given.homes} homes, a reading every 10 s, in {given.seconds:g} s:\n")
        published = stage.published(homes, scene)
        table = Table(sys.stdout)
        counts = scene.play(published, given.seconds, table.show)
        table.show(counts, last=True)
        found = find(published)
        _say(f"\n{found.words}")
        draw(published, found, given.picture)
        _say(f"\npicture      {given.picture.resolve()}")
        if given.keep:
            stack.pop_all()
            _say(f"still running; this ends it:\n  {scene.ending}")


def _scene(
    given: argparse.Namespace, directory: Path, interrupts: Interrupts, stack: ExitStack
) -> stage.Stage:
    if not given.no_kafka:
        try:
            return stage.with_kafka(directory, interrupts, stack, _say)
        except Trouble as trouble:
            _say(f"no Kafka: {trouble}")
    _say("without Kafka: `meteragent sanitize` runs the same pipeline on a pipe")
    return stage.without_kafka(directory, interrupts, stack)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
