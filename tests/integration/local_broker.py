"""The broker command as a test uses it."""

from __future__ import annotations

import os
import secrets
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

COMMAND = Path(__file__).resolve().parents[2] / "deploy" / "kafka" / "broker"
NOT_RUNNING = 3
UNAVAILABLE = 4


@dataclass(frozen=True, slots=True)
class Broker:
    """A cluster of one's own: `broker("kill", "2")`, `broker("start", "--tls")["ssl"]`."""

    directory: Path

    def __call__(self, command: str, *arguments: str) -> dict[str, str]:
        """Run a command that must succeed; return what it printed."""
        done = self.run(command, *arguments)
        if done.returncode == UNAVAILABLE and "CI" not in os.environ:
            pytest.skip(done.stderr)
        assert done.returncode == 0, done.stderr
        return dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)

    def run(self, command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # noqa: S603 - our own command
            [COMMAND, command, "--dir", self.directory, *arguments],
            capture_output=True,
            text=True,
            check=False,
        )


async def new_topic(bootstrap: str, partitions: int = 1, **configs: str) -> str:
    """Make a topic on every broker, with a name of its own; `cleanup_policy="compact"` etc."""
    name = f"topic-{secrets.token_hex(4)}"
    settings = {key.replace("_", "."): value for key, value in configs.items()}
    replicas = bootstrap.count(",") + 1
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        topic = NewTopic(name, partitions, replicas, topic_configs=settings)
        made = await admin.create_topics([topic])
    finally:
        await admin.close()
    assert all(error[1] == 0 for error in made.topic_errors), made
    return name
