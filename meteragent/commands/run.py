"""`run`: the agent on Kafka, until a signal ends it."""

import os
from argparse import Namespace

from meteragent import log
from meteragent.agent import Agent
from meteragent.config import load
from meteragent.exits import Exit
from meteragent.loop import run_until_done
from meteragent.metrics import Monitor


def run(arguments: Namespace) -> Exit:
    """Run the agent; SIGTERM drains it and ends with 0."""
    config = load(arguments.config, os.environ)
    log.configure(config.log.level, config.log.format, names=config.kafka.names)
    agent = Agent(config, config.agent.noise_key(), Monitor().tell)
    run_until_done(agent.run())
    return Exit.OK
