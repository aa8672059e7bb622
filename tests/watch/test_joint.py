"""One draw for all answers is paid once, and shown once."""

from __future__ import annotations

import json

from meteragent.watch.status import Status
from tests.watch.stage import Stage, block, config

JOINT = """
[[policy]]
name = "three"
window = "1m"
interval = "10s"
grace = "10s"
maximum = "24kW"
queries = ["min", "avg", "max"]
noise = "joint"
epsilon = "1"
budget = "2"
horizon = "10m"
on_exhausted = "partial"
"""


def stage() -> Stage:
    """Four windows, of which two are paid for."""
    made = Stage(config(JOINT))
    made.now += 300
    made.read(0, [block("m", minute, [1] * 6) for minute in range(5)])
    assert made.commit(0) == 4
    return made


def test_a_window_is_paid_once_for_all_answers_or_not_at_all() -> None:
    made = stage()
    documents = [json.loads(document or b"") for _, document, *_ in made.published]
    assert [document["epsilon"] for document in documents] == [{"joint": "0.01"}] * 2 + [{}] * 2
    assert [document["status"] for document in documents] == ["released"] * 2 + ["suppressed"] * 2
    for query in ("min", "avg", "max"):
        assert made.value("released_total", policy="three", query=query) == 2
        assert made.value("epsilon_spent_total", policy="three", query=query) is None
    assert made.value("epsilon_spent_total", policy="three", query="joint") == 2
    assert made.value("windows_released_total", policy="three") == 2


def test_series_say_what_a_window_costs_and_tells_together() -> None:
    made = stage()
    assert made.value("release_epsilon", policy="three", query="joint") == 1
    assert made.value("release_epsilon", policy="three", query="avg") is None
    together = made.value("release_leakage", policy="three", query="joint")
    ratio = made.value("release_capacity_ratio", policy="three", query="avg")
    assert together is not None
    assert ratio is not None
    assert 2**together > ratio
    assert made.value("release_leakage", policy="three", query="avg") is None


def test_the_status_says_what_all_answers_lose_together() -> None:
    made = stage()
    [said] = Status(made.settings, made.monitor, made, wall=lambda: made.now).document()["policies"]
    assert said["joint"]["epsilon"] == 1
    assert said["joint"]["bits"] == made.value("release_leakage", policy="three", query="joint")
    assert [answer["epsilon"] for answer in said["answers"]] == [None] * 3
    assert [answer["released"] for answer in said["answers"]] == [2] * 3
