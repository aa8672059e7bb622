"""`run`: the agent on Kafka, until a signal ends it."""

import gc
import os
from argparse import Namespace

import structlog
from prometheus_client import ProcessCollector

from meteragent import __version__
from meteragent.commands.exit_codes import Exit, report
from meteragent.config import Config, load
from meteragent.config.works import works
from meteragent.formats import fast
from meteragent.formats.messages import message_decoder
from meteragent.kafka.agents import Agents
from meteragent.process.loop import run_until_done
from meteragent.watch import log, trace
from meteragent.watch.metrics import Monitor
from meteragent.watch.notify import reporting
from meteragent.watch.status import Status
from meteragent.watch.web import serving

_log = structlog.get_logger()

SELDOM = (20_000, 20, 50)
"""A poll makes thousands of objects that die at once; to look for cycles among them costs a tenth
of the processor, and finds none."""


def run(arguments: Namespace) -> Exit:
    """Run the agent; SIGTERM drains it and ends with 0."""
    config = load(arguments.config, os.environ)
    message_decoder(config.mapping)  # or what only tables have is refused late
    log.configure(config.log.level, config.log.format, names=config.kafka.names)
    gc.set_threshold(*SELDOM)
    try:
        run_until_done(_run(config))
    except Exception as error:
        if config.log.format == "console":
            raise
        return _report(error)
    return Exit.OK


def _report(error: Exception) -> Exit:
    """Say why it ends as everything else was said, or collectors drop just these lines."""
    kind = trace.kind(error)
    return report(error, lambda line: _log.error("agent ended", error=kind, message=line))


async def _run(config: Config) -> None:
    """Show what there is from the first moment on: that Kafka is not there yet, for one."""
    monitors = {work: Monitor(own) for work, own in works(config).items()}
    agents = Agents(config, config.agent.noise_key(), lambda work: monitors[work].tell)
    for work, monitor in monitors.items():
        monitor.watch(agents.of[work])
    _log.info("agent starts", version=__version__, records=f"read by {fast.way()}")
    shown = monitors[agents.shown]
    ProcessCollector(registry=shown.series.registry)
    others = {work.value: one for work, one in monitors.items() if one is not shown}
    status = Status(config, shown, agents, works=others)
    async with (
        serving(config.http, status.pages()),
        reporting(os.environ, agents, lambda: str(status.state()["sentence"])),
    ):
        await agents.run()
