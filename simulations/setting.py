"""An agent for simulations: its topics, its key and its configuration, made for one run."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

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
session_timeout = "{session}ms"
[http]
port = {port}
[log]
level = "error"
[[policy]]
name = "household"
{policy}
"""
_POLICY = """
window = "{window}ms"
interval = "{interval}ms"
grace = "{grace}ms"
maximum = "24kW"
queries = {queries}
epsilon = "1"
budget = "100000"
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
    policy = policy or _POLICY.format(**{**vars(setting), "queries": queries})
    values = {**vars(setting), "policy": policy}
    file = directory / f"{name}.toml"
    file.write_text(_TOML.format(bootstrap=bootstrap, source=source, name=name, **values))
    return file, f"{name}.out"
