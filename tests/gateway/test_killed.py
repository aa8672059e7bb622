"""With a real broker: killed at any moment, the broker restarted meanwhile, nothing shows it."""

from __future__ import annotations

import random
import time
from contextlib import closing
from multiprocessing import get_context
from typing import TYPE_CHECKING

import pytest

from meteragent.cli import main
from meteragent.files.ledger import look
from tests.files.given import write_key
from tests.gateway import mosquitto
from tests.gateway.given import CONFIGURATION, LAST, Result, Sent, config, messages, oracle
from tests.gateway.given import without_repeats as merged
from tests.given import MINUTE

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess
    from pathlib import Path

    from meteragent.config import Config

KILLS, MANY_KILLS = 20, 200
PATIENT = CONFIGURATION.replace('idle = "1m"', 'idle = "36500d"').partition("presence")[0]
"""The readings are of long ago: only what comes after them may close their windows."""
METERS = ("home-1", "home-2", "plug-a")
FORKS = get_context("forkserver")
FORKS.set_forkserver_preload(["meteragent.commands.gateway", "meteragent.gateway.agent"])


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_key(tmp_path)
    return tmp_path


def configured(directory: Path, port: int, text: str = PATIENT) -> Config:
    text = text.replace("[mqtt]", f"[mqtt]\nport = {port}")
    (directory / "gateway.toml").write_text(text)
    return config(directory, text)


def started() -> BaseProcess:
    process = FORKS.Process(target=main, args=(["gateway", "-c", "gateway.toml"],))
    process.start()
    return process


def story(seed: int, last: int) -> list[Sent]:
    """Messages, and behind them one of each meter that closes all windows before."""
    end = last + 30 * MINUTE
    closing_ones = messages(seed, METERS, last)
    for meter in METERS:
        topic = "zigbee/b" if meter == "home-2" else f"tele/{meter}/SENSOR"
        text = f'{{"ts": {end}, "power": 5, "device": "home-2"}}'
        closing_ones.append(Sent(end, topic, text.encode()))
    return closing_ones


def expected(settings: Config, sent: list[Sent]) -> Result:
    """What must come of it, without what only the clock would close."""
    return oracle(settings, sent, over=None)


def survive(directory: Path, kills: int, seed: int) -> None:
    rng = random.Random(seed)
    with mosquitto.running(directory / "broker") as broker:
        settings = configured(directory, broker.port)
        sent = story(seed, LAST + kills * MINUTE)
        wanted = expected(settings, sent)
        reader, sender = mosquitto.Reader(broker.port), mosquitto.Sender(broker.port)
        with closing(reader), closing(sender):
            process = started()  # or there is no session, and nothing would be kept
            mosquitto.until(lambda: subscribed(directory))
            portion = -(-len(sent) // kills)
            for first in range(0, len(sent), portion):
                sender.send(sent[first : first + portion])
                time.sleep(rng.random() * 0.6)
                process.kill()
                process.join()
                process = started()
            try:
                mosquitto.until(lambda: merged(reader.messages) == wanted.releases)
            finally:
                process.terminate()
                process.join()
            assert process.exitcode == 0
    assert look(directory / "gateway.db").accounts == wanted.accounts


def subscribed(directory: Path) -> bool:
    """Whether the broker has a session for the gateway, with what it is to keep."""
    return "meteragent/echo (QoS 1)" in (directory / "broker" / "log").read_text()


def test_killed_at_any_moment_it_loses_nothing_and_releases_nothing_twice(
    directory: Path,
) -> None:
    survive(directory, KILLS, 1)


@pytest.mark.slow
def test_killed_two_hundred_times(directory: Path) -> None:
    survive(directory, MANY_KILLS, 2)


def test_a_broker_that_restarts_is_waited_for(directory: Path) -> None:
    with mosquitto.running(directory / "broker") as broker:
        settings = configured(directory, broker.port)
        sent = story(3, LAST)
        wanted = expected(settings, sent)
        process = started()
        mosquitto.until(lambda: subscribed(directory))
        third = -(-len(sent) // 3)
        seen: list[tuple[str, bytes]] = []
        for first in range(0, len(sent), third):
            reader, sender = mosquitto.Reader(broker.port), mosquitto.Sender(broker.port)
            with closing(reader), closing(sender):
                sender.send(sent[first : first + third])
                time.sleep(0.3)
                seen += reader.messages
            broker.restart()
        with closing(mosquitto.Reader(broker.port)) as reader:
            mosquitto.until(lambda: merged([*seen, *reader.messages]) == wanted.releases)
        process.terminate()
        process.join()
        assert process.exitcode == 0
    assert look(directory / "gateway.db").accounts == wanted.accounts
