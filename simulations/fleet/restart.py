"""When an agent that is killed late in a long window has caught up again, and at what cost.

    python -m simulations.fleet restart                      tv-content, as shipped
    python -m simulations.fleet restart --preset tv-content --grace 30s --check
    python -m simulations.fleet restart --quick              small: does it run?

A window begins so many hours ago. What came long before is sent in blocks, and all that a restart
may have to read again as single readings, the last of them a few minutes ahead of this machine's
clock: so no pane closes only because this takes its time. The agent takes it all in, is killed with
SIGKILL, and is started again at once. The group misses the dead one when its session is over, so
`after the session` is what the agent itself needs. `foreseen` is what `meteragent check` says.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from meteragent.config.policy import PolicySettings
from meteragent.config.presets import presets
from meteragent.stream.trail import read_back
from simulations.fleet.caught_up import ends, watched
from simulations.fleet.load import fill, make_topic, shown
from simulations.fleet.measure import free_port
from simulations.fleet.traffic import CALM, Fleet
from simulations.local_kafka import Broker, running
from simulations.processes import module, processor_seconds, started
from simulations.setting import Setting, prepare

MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR
QUARTER = 15 * MINUTE
SESSION = 10_000
SETTLED_SECONDS = 7.0
"""By then a position without releases is committed, too."""
MOST_SECONDS, MOST_BYTES = 30.0, 2048
EMPTY_BYTES = 100 * 2**20
"""Of an agent without meters."""


@dataclass(frozen=True)
class Scenario:
    """Who is killed when."""

    preset: str
    interval: str
    grace: str
    meters: int
    hours: int
    ahead: int
    """Minutes by which readings are ahead of this machine's clock."""
    partitions: int = 4
    limit: float = 3600.0

    @property
    def _policy(self) -> PolicySettings:
        given = {"interval": self.interval, "grace": self.grace}
        chosen = {name: value for name, value in given.items() if value}
        return PolicySettings.model_validate({"name": "all", "preset": self.preset, **chosen})

    @property
    def interval_ms(self) -> int:
        """Between readings."""
        return self._policy.interval

    @property
    def foreseen(self) -> int:
        """Readings of a meter that a restart reads again at most."""
        return -(-read_back(self._policy.policy) // self.interval_ms)

    def setting(self, begin: int, port: int) -> Setting:
        """The preset's, its windows beginning when the first reading is sent."""
        window = self._policy.window
        assert isinstance(window, int)  # noqa: S101 - presets have no calendars
        more = {"preset": self.preset, "offset": f"{begin % window // MINUTE}m"}
        more |= {"interval": self.interval, "grace": self.grace}
        return Setting(session=SESSION, port=port, preset={k: v for k, v in more.items() if v})


@dataclass(frozen=True)
class Found:
    """What came of it."""

    preset: str
    interval_ms: int
    meters: int
    hours: int
    foreseen: int
    read_again: float
    """Records of a meter."""
    ready: float
    caught_up: float
    after_session: float
    processor: float
    peak_bytes: float
    """Of a meter, above an agent that has none."""

    @property
    def good(self) -> bool:
        """Whether the targets are met."""
        return self.after_session <= MOST_SECONDS and self.peak_bytes <= MOST_BYTES


async def kill(broker: Broker, one: Scenario, home: Path) -> Found:
    """Fill, drain, kill, start again, watch."""
    topic = f"restart-{one.preset}-{time.monotonic_ns()}"
    await make_topic(broker.bootstrap, topic, one.partitions)
    now = int(time.time() * 1000) // QUARTER * QUARTER + one.ahead * MINUTE // QUARTER * QUARTER
    begin = now - one.hours * HOUR
    await _fill(broker, one, topic, begin, now)
    port = free_port()
    setting = one.setting(begin, port)
    file, _ = await prepare(broker.bootstrap, topic, one.partitions, home, setting)
    wanted = await ends(broker.bootstrap, topic, one.partitions)
    log = home / "agent.log"
    command = module("meteragent", "run", "-c", file)
    with started(command, log) as first:
        await watched(port, wanted, one.limit, time.monotonic())
        await asyncio.sleep(SETTLED_SECONDS)
        first.kill()
        first.wait()
    begun = time.monotonic()
    with started(command, log) as second:
        back = await watched(port, wanted, one.limit, begun)
        return Found(
            one.preset,
            one.interval_ms,
            one.meters,
            one.hours,
            one.foreseen,
            back.records / one.meters,
            back.ready,
            back.caught_up,
            max(0.0, back.caught_up - SESSION / 1000),
            processor_seconds(second.pid),
            max(0.0, _peak(second.pid) - EMPTY_BYTES) / one.meters,
        )


async def _fill(broker: Broker, one: Scenario, topic: str, begin: int, now: int) -> None:
    """Blocks of a quarter hour for what is not read again, and then reading by reading."""
    interval = one.interval_ms
    again = -(-(one.foreseen * interval + QUARTER) // QUARTER) * QUARTER
    morning = max(begin, now - again)
    common = {"interval": interval, "partitions": one.partitions, "trouble": CALM}
    block = QUARTER // interval
    parts = (
        Fleet(one.meters, (morning - begin) // interval, begin, block=block, **common),  # type: ignore[arg-type]
        Fleet(one.meters, (now - morning) // interval, morning, **common),  # type: ignore[arg-type]
    )
    for fleet in parts:
        if fleet.steps:
            await fill(broker.bootstrap, topic, fleet, show=shown)
    print(file=sys.stderr)


def _peak(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def main(arguments: list[str]) -> int:
    """Print a row for each preset."""
    parser = argparse.ArgumentParser(prog="python -m simulations.fleet restart")
    parser.add_argument("--preset", nargs="*", choices=[*presets()], default=["tv-content"])
    parser.add_argument("--interval", default="10s", help='of the meters (default: "10s")')
    parser.add_argument("--grace", default="", help="in place of the preset's")
    parser.add_argument("--meters", type=int, default=100_000)
    parser.add_argument("--hours", type=int, default=23, help="of the window that are over")
    parser.add_argument("--ahead", type=int, default=30, help="minutes that filling may take")
    parser.add_argument("--bootstrap", help="a broker; without it one is started")
    parser.add_argument("--json", type=Path, help="write the numbers here")
    parser.add_argument("--quick", action="store_true", help="small")
    parser.add_argument("--check", action="store_true", help="end with 1 if a target is missed")
    given = parser.parse_args(arguments)
    if given.quick:
        given.meters, given.hours = 100, 3
    title = f"{'foreseen':>10}{'read again':>12}{'ready':>9}{'caught up':>11}"
    print(f"{'a meter, and seconds':<24}{title}{'after session':>15}{'cpu':>8}{'peak':>12}")
    found = []
    with running(given.bootstrap) as broker, tempfile.TemporaryDirectory() as home:
        for preset in given.preset:
            one = Scenario(
                preset, given.interval, given.grace, given.meters, given.hours, given.ahead
            )
            found.append(asyncio.run(kill(broker, one, Path(home))))
            print(_row(found[-1]), flush=True)
    if given.json:
        given.json.write_text(json.dumps([asdict(one) for one in found], indent=2) + "\n")
    met = all(one.good for one in found)
    print("all targets met" if met else "a target is missed")
    return int(given.check and not met)


def _row(one: Found) -> str:
    name = f"{one.preset}, {one.interval_ms / 1000:g} s"
    times = f"{one.ready:>9.1f}{one.caught_up:>11.1f}{one.after_session:>15.1f}"
    cost = f"{one.processor:>8.1f}{one.peak_bytes:>10,.0f} B"
    return f"{name:<24}{one.foreseen:>10,}{one.read_again:>12,.1f}{times}{cost}"
