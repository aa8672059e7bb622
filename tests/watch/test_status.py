from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256

import pytest

from meteragent import __version__
from meteragent.stream.partition import State
from meteragent.watch.events import PartitionFailed, PartitionMoved
from meteragent.watch.http_message import Request, Response
from meteragent.watch.status import Status
from meteragent.watch.watched import Clocks
from tests.watch.stage import BEGIN, MINUTE, Stage, block, config
from tests.watch.test_balances import LASTING


def ask(stage: Stage, path: str, **headers: str) -> Response:
    status = Status(stage.settings, stage.monitor, stage, wall=lambda: stage.now)
    return status.pages()[path].answer(Request("GET", path, headers))


def shown(stage: Stage) -> dict[str, object]:
    document = json.loads(ask(stage, "/status.json").body)
    assert isinstance(document, dict)
    return document


@pytest.mark.parametrize(("path", "attribute"), [("/healthz", "alive"), ("/readyz", "ready")])
def test_a_probe_says_yes_or_no(path: str, attribute: str) -> None:
    stage = Stage(config())
    assert ask(stage, path).status == 200
    setattr(stage, attribute, False)
    assert ask(stage, path).status == 503
    assert stage.value(attribute) == 0


def test_metrics_come_in_the_format_that_is_asked_for() -> None:
    stage = Stage(config())
    assert ask(stage, "/metrics").kind == "text/plain; version=0.0.4; charset=utf-8"
    kind = "application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.5"
    opened = ask(stage, "/metrics", accept=kind)
    assert opened.kind.startswith("application/openmetrics-text; version=1.0.0")
    assert opened.body.endswith(b"# EOF\n")


def test_the_page_allows_itself_and_nothing_else() -> None:
    page = ask(Stage(config()), "/")
    html, policy = page.body.decode(), page.headers["Content-Security-Policy"]
    for tag in ("script", "style"):
        [inside] = re.findall(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
        digest = b64encode(sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert not re.search(r"(?:src|href)=\"(?!data:|metrics|status.json)", html)
    assert not re.search(r"\son\w+=|\sstyle=|innerHTML|eval\(", html)


def test_the_state_is_one_sentence() -> None:
    def sentence(stage: Stage) -> object:
        return shown(stage)["state"]

    stage = Stage(config(), partitions=2)
    assert sentence(stage) == {"word": "running", "sentence": "Running: 2 of 2 partitions."}
    stage.monitor.tell(PartitionMoved(1, State.FAILED))
    stage.ready = False
    assert sentence(stage) == {
        "word": "starting",
        "sentence": "Getting ready: 1 of 2 partitions running.",
    }
    stage.alive = False
    assert sentence(stage) == {
        "word": "stalled",
        "sentence": "No progress for more than 60 s: the brokers or a commit are stuck.",
    }
    empty = Stage(config(), partitions=0)
    assert "given no partition" in str(sentence(empty))
    empty.ready = False
    assert "waiting for Kafka" in str(sentence(empty))


def test_what_is_shown_is_what_happened() -> None:
    stage = Stage(config(), partitions=2)
    for minute in range(8):
        stage.now = (BEGIN + (minute + 1) * MINUTE) / 1000
        stage.read(0, [block("m", minute, [1] * 6), b"?"])
        stage.commit(0)
    stage.behind = {0: 5}
    stage.monitor.tell(PartitionFailed(1, KeyError("412.5"), 1))
    found = shown(stage)
    assert found["version"] == __version__
    assert found["rejects"] == {"not_json": 8}
    assert found["partitions"] == [
        {
            "partition": 0,
            "state": "running",
            "lag": 5,
            "blocked_seconds": 0,
            "schema_wait_seconds": 0,
            "behind_seconds": 10,
            "processed": 16,
        },
        {
            "partition": 1,
            "state": "running",
            "lag": None,
            "blocked_seconds": 0,
            "schema_wait_seconds": 0,
            "behind_seconds": None,
            "processed": 0,
        },
    ]
    assert found["errors"] == [
        {"at": stage.now, "where": "partition", "error": "KeyError", "place": ""}
    ]
    household = found["policies"][0]  # type: ignore[index]
    assert household["windows"] == {"closed": 7, "released": 6}
    assert household["suppressed"] == {"budget": 1, "coverage": 0, "lost": 0, "homes": 0}
    assert [answer["released"] for answer in household["answers"]] == [6, 6]
    assert sum(household["spent_by_each"]) == household["budget"] == 9
    assert household["spent_by_each"][-1] == 0  # the last window was withheld
    assert household["tenths"] == [1, *[0] * 9]
    assert household["exhaustion_seconds"] == 0
    assert found["delay_seconds"] == {"median": 60, "most": 60}


def test_readings_that_share_a_slot_and_silence_are_shown() -> None:
    stage = Stage(config(), partitions=1)
    stage.read(0, [block("m-1", 0, [100] * 6)])
    found = shown(stage)
    assert (found["shared_last_hour"], found["mostly_shared"]) == (0, False)
    stage.read(0, [block("m-1", 0, [100] * 6)])
    stage.now += 700
    found = shown(stage)
    assert (found["shared_last_hour"], found["mostly_shared"]) == (6, True)
    assert found["silent_seconds"] == 700
    stage.now += 3600
    assert shown(stage)["shared_last_hour"] == 0


def test_what_is_spent_is_that_of_each_meter_and_not_of_all() -> None:
    stage = Stage(config(), partitions=1)
    for minute in range(4):
        stage.now = (BEGIN + (minute + 1) * MINUTE) / 1000
        stage.read(0, [block(f"m-{n}", minute, [100] * 6) for n in range(300)])
        stage.commit(0)
    household = shown(stage)["policies"][0]  # type: ignore[index]
    windows = household["windows"]["released"] / 300
    assert windows > 1
    assert sum(household["spent_by_each"]) == pytest.approx(windows * 1.5)


def test_a_policy_says_its_preset_and_with_whom_it_shares_an_account() -> None:
    text = """
[budget]
amount = "10"
radius = "100W"
horizon = "24h"
[[policy]]
name = "day"
preset = "tv-content"
share = "4"
[[policy]]
name = "hours"
window = "1h"
interval = "10s"
maximum = "24kW"
epsilon = "0.05"
radius = "100W"
share = "6"
"""
    policies = shown(Stage(config(text)))["policies"]
    assert isinstance(policies, list)
    day, hours = policies
    assert (day["preset"], day["beside"], day["of"]) == ("tv-content", ["hours"], "meter")
    assert (hours["preset"], hours["beside"]) == (None, ["day"])


def test_an_agent_that_has_seen_nothing_shows_that() -> None:
    stage = Stage(config(LASTING), partitions=0)
    found = shown(stage)
    assert found["records_per_second"] == found["releases_per_second"] == 0
    assert found["delay_seconds"] == {"median": None, "most": None}
    policy = found["policies"][0]  # type: ignore[index]
    assert policy["exhaustion_seconds"] is None
    assert policy["meters"] == 0


def test_rates_are_those_of_the_last_half_minute() -> None:
    stage = Stage(config())
    for _ in range(30):
        stage.now += 1
        stage.read(0, [block("m", 0, [1] * 6)] * 4)
    assert shown(stage)["records_per_second"] == pytest.approx(4, rel=0.1)
    stage.now += 40
    assert shown(stage)["records_per_second"] == 0


def test_the_guarantee_is_said_in_words() -> None:
    said = shown(Stage(config(LASTING)))["policies"][0]  # type: ignore[index]
    assert said["words"] == (
        "Someone who already knows every reading of a home to within 50 W either way improves the "
        "odds of any guess by at most x2.72 from one release (avg of 1 min), and by at most "
        "x22,100 from all releases of 10 min that start or end with a window. All releases of any "
        "other 10 min, which touch one window more, improve the odds by at most x59,900."
    )


DISTRUST = Clocks(trusted=False)


@pytest.mark.parametrize(
    ("clocks", "problem"),
    [
        (
            DISTRUST._replace(differs=True, ahead=3600.2),
            "this machine's clock is 3,600 s ahead of the brokers'",
        ),
        (
            DISTRUST._replace(differs=True, ahead=-59.7),
            "this machine's clock is 60 s behind the brokers'",
        ),
        (DISTRUST._replace(age=31), "the brokers' time has not been learned for 31 s"),
    ],
)
def test_a_clock_that_closes_no_windows_is_said(clocks: Clocks, problem: str) -> None:
    stage = Stage(config())
    stage.ready, stage.clocks = False, clocks
    sentence = f"Not ready: {problem}; only readings close windows."
    assert shown(stage)["state"] == {"word": "untimely", "sentence": sentence}
    assert stage.value("clock_ahead_seconds") == clocks.ahead
    assert stage.value("clock_age_seconds") == clocks.age
    assert stage.value("clock_trusted") == 0
    stage.monitor.tell(PartitionMoved(0, State.FAILED))
    assert "Getting ready" in str(shown(stage)["state"])
