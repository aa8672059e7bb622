from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.fleet import QUICK
from tests.integration.local_broker import Broker
from tests.integration.street import Street

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a broker that all tests share; each makes topics of its own in it."""
    shared = Broker(tmp_path_factory.mktemp("kafka"))
    yield shared("start", *QUICK)["bootstrap"]
    shared("stop")


@pytest.fixture(scope="session")
def servers(kafka: str) -> str:
    """The same, for those who have a fleet."""
    return kafka


@pytest.fixture
def street(kafka: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Street:
    """Homes and groups on that broker; whoever reads their configuration stands beside the key."""
    monkeypatch.chdir(tmp_path)
    return Street(tmp_path, kafka)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    """A cluster for one test, to be started with any options and broken at will."""
    own = Broker(tmp_path / "kafka")
    yield own
    own("stop")
