"""`gateway`: MQTT instead of Kafka, until a signal ends it."""

import os
from argparse import Namespace
from importlib.util import find_spec

import structlog
from prometheus_client import ProcessCollector

from meteragent import __version__
from meteragent.commands.exit_codes import Exit, report
from meteragent.config import Config, load
from meteragent.errors import ConfigRefused, InvalidSetting
from meteragent.privacy import native
from meteragent.process.loop import run_until_done
from meteragent.watch import log, trace
from meteragent.watch.looked import GatewayDisk
from meteragent.watch.metrics import Monitor
from meteragent.watch.notify import reporting
from meteragent.watch.status import OF_GATEWAYS, Status
from meteragent.watch.web import serving

_log = structlog.get_logger()


def run(arguments: Namespace) -> Exit:
    """Run the gateway; SIGTERM drains it and ends with 0."""
    config = load(arguments.config, os.environ)
    refuse_unfit(config)
    log.configure(config.log.level, config.log.format, names=config.mqtt.names)
    try:
        run_until_done(_run(config, accept_loss=arguments.accept_loss))
    except Exception as error:
        if config.log.format == "console":
            raise
        kind = trace.kind(error)
        return report(error, lambda line: _log.error("gateway ended", error=kind, message=line))
    return Exit.OK


def refuse_unfit(config: Config) -> None:
    """Refuse a configuration that is not for a gateway, and one that this machine cannot run."""
    config.refuse_groups("is not released by a gateway", "leave it out")
    if not config.mqtt.topics:
        problem, instead = "is missing", 'write for example topics = ["tele/{meter}/SENSOR"]'
        raise ConfigRefused([InvalidSetting("mqtt.topics", problem, instead)])
    config.mapping.refuse_documents()
    if find_spec("aiomqtt") is None:
        problem, instead = (
            "needs a package that is not installed",
            "run: pip install 'meteragent[mqtt]'",
        )
        raise ConfigRefused([InvalidSetting("mqtt", problem, instead)])


async def _run(config: Config, *, accept_loss: bool) -> None:
    """Show what there is from the first moment on: that the broker is not there yet, for one."""
    from meteragent.gateway.agent import Gateway  # noqa: PLC0415 - an extra

    monitor = Monitor(config)
    gateway = Gateway(config, config.agent.noise_key(), monitor.tell, accept_loss=accept_loss)
    monitor.watch(gateway)
    monitor.series.registry.register(
        GatewayDisk(journal_bytes=lambda: gateway.journal_bytes, unsent=lambda: gateway.unsent)
    )
    _log.info("gateway starts", version=__version__, records=f"read by {native.way()}")
    ProcessCollector(registry=monitor.series.registry)
    status = Status(config, monitor, gateway, phrases=OF_GATEWAYS)
    async with (
        serving(config.http, status.pages()),
        reporting(os.environ, gateway, lambda: str(status.state()["sentence"])),
    ):
        await gateway.run()
