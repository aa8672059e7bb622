"""An agent for simulations: its topics, its key and its configuration, made for one run."""

import os
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from meteragent.config import load
from meteragent.config.works import works
from meteragent.kafka import topics
from meteragent.kafka.clients import Clients
from meteragent.kafka.memberships import tell
from meteragent.privacy.members import Membership
from simulations.fleet.load import make_topic

WINDOW = 900_000
INTERVAL = 10_000
GRACE = 30_000

_TOML = """
[agent]
key_file = "noise.key"
commit_interval = "{commit}ms"
max_meters = 2000000
[kafka]
bootstrap_servers = ["{bootstrap}"]
trust_timestamps = true
group = "{name}"
input = "{source}"
output = "{name}.out"
ledger = "{name}.ledger"
rejected = "{name}.rejected"
policies = "{name}.policies"
{topics}
session_timeout = "{session}ms"
[http]
port = {port}
[log]
level = "error"
[[policy]]
name = "household"
{policy}
"""
_ALONE = 'budget = "100000"'
_IN_GROUPS_TOO = """
share = "50000"
[budget]
amount = "100000"
groups = "50000"
horizon = "1d"
[[group]]
name = "feeder"
window = "{window}ms"
interval = "{interval}ms"
grace = "{grace}ms"
idle = "{interval}ms"
maximum = "5MW"
home_maximum = "24kW"
epsilon = "1"
share = "50000"
"""
"""What a policy ends with: homes that are in no group, and those that are in one too."""
_TOPICS = """
groups = "{name}.groups"
groups_output = "{name}.groups.out"
partials = "{name}.partials"
homes_ledger = "{name}.ledger.homes"
groups_ledger = "{name}.ledger.groups"
"""
_POLICY = """
window = "{window}ms"
interval = "{interval}ms"
grace = "{grace}ms"
maximum = "24kW"
queries = {queries}
epsilon = "1"
{budget}
"""


@dataclass(frozen=True)
class Setting:
    """What differs from the defaults."""

    commit: int = 500
    queries: tuple[str, ...] = ("avg", "median", "p95")
    window: int = WINDOW
    interval: int = INTERVAL
    grace: int = GRACE
    session: int = 10_000
    port: int = 0
    preset: Mapping[str, str] = field(default_factory=dict)
    """The settings of a policy of one's own, in place of window, interval, grace and queries."""
    groups: bool = False
    """Whether homes are in groups too; `group` tells the agent in which."""


async def prepare(
    bootstrap: str, source: str, partitions: int, directory: Path, setting: Setting
) -> tuple[Path, str]:
    """Make topics, key and configuration; answer with the file and the output topic."""
    name = f"agent-{secrets.token_hex(4)}"
    for topic in ("out", "rejected"):
        await make_topic(bootstrap, f"{name}.{topic}", partitions)
    stamped = {"cleanup_policy": "compact", "message_timestamp_type": "LogAppendTime"}
    await make_topic(bootstrap, f"{name}.ledger", partitions, **stamped)
    await make_topic(bootstrap, f"{name}.policies", 1, cleanup_policy="compact")
    key = directory / "noise.key"
    if not key.exists():
        key.touch(mode=0o600)
        key.write_text(bytes(range(32)).hex() + "\n")
    queries = "[" + ", ".join(f'"{query}"' for query in setting.queries) + "]"
    policy = "\n".join(f'{name} = "{value}"' for name, value in setting.preset.items())
    budget = _IN_GROUPS_TOO.format(**vars(setting)) if setting.groups else _ALONE
    policy = policy or _POLICY.format(**{**vars(setting), "queries": queries, "budget": budget})
    told = _TOPICS.format(name=name) if setting.groups else ""
    values = {**vars(setting), "policy": policy, "topics": told}
    file = directory / f"{name}.toml"
    file.write_text(_TOML.format(bootstrap=bootstrap, source=source, name=name, **values))
    return file, f"{name}.out"


async def group(file: Path, partitions: int, memberships: Sequence[Membership]) -> str:
    """Make the topics of groups, and tell who is in which; answer with the topic of releases."""
    settings = load(file, os.environ)
    for own in works(settings).values():
        await topics.create(own, Clients(own.kafka), partitions, 1)
    await tell(settings, Clients(settings.kafka), memberships, int(time.time() * 1000))
    return settings.kafka.groups_output
