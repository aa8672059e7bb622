"""Kafka and the clock are handed in: whoever hands in others can run the shell without either."""

import ast
from pathlib import Path

import pytest

import meteragent.kafka

ROOMS = sorted(Path(meteragent.kafka.__file__).parent.glob("*.py"))
CLIENTS = {"AIOKafkaConsumer", "AIOKafkaProducer", "AIOKafkaAdminClient", "create_conn"}


def called(source: str) -> set[str]:
    """What is called: `f` of `f()` and of `m.f()`, and `m` of the latter."""
    calls = (node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    return {n for call in calls for node in ast.walk(call) if (n := name(node))}


def name(node: ast.AST) -> str:
    return getattr(node, "attr", "") or getattr(node, "id", "")


@pytest.mark.parametrize("room", ROOMS, ids=lambda path: path.stem)
def test_no_room_asks_the_time_or_makes_a_client_by_itself(room: Path) -> None:
    found = called(room.read_text(encoding="utf-8"))
    assert not found & {"time", "monotonic", "perf_counter"}
    assert room.stem == "clients" or not found & CLIENTS


@pytest.mark.parametrize(
    "planted", ["time.monotonic()", "now = monotonic()", "x = f(AIOKafkaProducer(**options))"]
)
def test_who_does_is_found(planted: str) -> None:
    assert called(planted) & {"monotonic", *CLIENTS}
