"""`run`: the agent on Kafka, until a signal ends it."""

import gc
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Coroutine
from contextlib import nullcontext
from pathlib import Path

import structlog
from prometheus_client import ProcessCollector

from meteragent import __version__
from meteragent.commands.exit_codes import CURABLE, Exit, report
from meteragent.config import Config
from meteragent.config.fields import AUTO, processes
from meteragent.config.load import from_text, read
from meteragent.config.works import Work, works
from meteragent.errors import ConfigRefused, InvalidSetting
from meteragent.formats.messages import message_decoder
from meteragent.kafka.agents import Agents, shown
from meteragent.privacy import native
from meteragent.process.loop import run_until_done
from meteragent.process.processes import Ends, Processes
from meteragent.process.processors import usable
from meteragent.process.reports import Given, given, telling
from meteragent.watch import log, trace
from meteragent.watch.kept_counts import KeptCounts
from meteragent.watch.metrics import Monitor
from meteragent.watch.notify import reporting
from meteragent.watch.status import Status
from meteragent.watch.watched import Watched
from meteragent.watch.web import serving
from meteragent.watch.whole import AsOne, Nobody

_log = structlog.get_logger()

SELDOM = (20_000, 20, 50)
"""A poll makes thousands of objects that die at once; to look for cycles among them costs a tenth
of the processor, and finds none."""


HERE = str(Path(__file__).parents[2])
_ITSELF = f"""import sys
sys.path[:0] = [] if {HERE!r} in sys.path else [{HERE!r}]
from meteragent.cli import main
sys.exit(main())"""
# -P: or what lies where this was started would come before what runs.
_AGAIN = [sys.executable, "-P", *(f"-W{option}" for option in sys.warnoptions), "-c", _ITSELF]
"""This very program, anew."""


def run(arguments: Namespace) -> Exit:
    """Run the agent; SIGTERM drains it and ends with 0."""
    one = given(os.environ)
    text = one.text if one else read(arguments.config)
    config = from_text(text, arguments.config, os.environ)
    message_decoder(config.mapping)  # or what only tables have is refused late
    count = 1 if one else _processes(config, arguments.processes)
    log.configure(
        config.log.level,
        config.log.format,
        names=config.kafka.names,
        process=one.number if one else None,
    )
    gc.set_threshold(*SELDOM)
    if count > 1:
        return _told(config, lambda: _run_several(config, text, arguments.config, count))
    return _told(config, lambda: _run(config, one))


def _processes(config: Config, asked: str | None) -> int:
    """How many processes are asked for, by the command line or else by the configuration."""
    wanted = config.agent.processes
    try:
        if asked is not None:
            wanted = processes("--processes", int(asked) if asked.isdecimal() else asked)
    except InvalidSetting as error:
        raise ConfigRefused([error]) from error
    if wanted == 1:
        return 1
    if not sys.platform.startswith("linux"):
        problem, instead = "is more than one, which needs Linux", "write 1, or leave it out"
        raise ConfigRefused([InvalidSetting("agent.processes", problem, instead)])
    return usable() if wanted == AUTO else int(wanted)


def _told(config: Config, work: Callable[[], Coroutine[object, object, Exit]]) -> Exit:
    """How it ends, said as everything else was said, or collectors drop just these lines."""
    try:
        return run_until_done(work())
    except Exception as error:
        if config.log.format == "console":
            raise
        kind = trace.kind(error)
        return report(error, lambda line: _log.error("agent ended", error=kind, message=line))


async def _run(config: Config, one: Given | None) -> Exit:
    """Show what there is from the first moment on: that Kafka is not there yet, for one."""
    monitors = _monitors(config, KeptCounts(one.counts) if one else None)
    agents = Agents(config, config.agent.noise_key(), lambda work: monitors[work].tell)
    for work, monitor in monitors.items():
        monitor.watch(agents.of[work])
    _log.info("agent starts", version=__version__, records=f"read by {native.way()}")
    ProcessCollector(registry=monitors[shown(monitors)].series.registry)
    status = _status(config, monitors, agents)
    if one:
        async with telling(one.line, status.report, agents.stop):
            await agents.run()
        return Exit.OK
    async with (
        serving(config.http, status.pages()),
        reporting(os.environ, agents, lambda: str(status.state()["sentence"])),
    ):
        await agents.run()
    return Exit.OK


async def _run_several(config: Config, text: str, file: Path, count: int) -> Exit:
    """Start processes like this one, and show them as one."""
    monitors, nobody = _monitors(config, None), Nobody(config.agent.noise_key().fingerprint)
    for monitor in monitors.values():
        monitor.watch(nobody)
    ends = Ends(frozenset(CURABLE), Exit.UNAVAILABLE)
    several = Processes(config, text, count, [*_AGAIN, "run", "-c", str(file)], ends)
    ProcessCollector(registry=several.registry)
    together = AsOne(_status(config, monitors, nobody), several, several.registry)
    _log.info("agent starts", version=__version__, processes=count)
    async with (
        serving(config.http, together.pages()),
        reporting(os.environ, several, lambda: several.sentence[1]),
    ):
        code = await several.run()
        return next(known for known in Exit if known == code)


def _monitors(config: Config, kept: KeptCounts | None) -> dict[Work, Monitor]:
    """One for each work; where one of several processes counts, its counts are kept."""
    monitors = {}
    for work, own in works(config).items():
        with kept.of(work.value) if kept else nullcontext():
            monitors[work] = Monitor(own)
    return monitors


def _status(config: Config, monitors: dict[Work, Monitor], agent: Watched) -> Status:
    one = monitors[shown(monitors)]
    others = {work.value: other for work, other in monitors.items() if other is not one}
    return Status(config, one, agent, works=others)
