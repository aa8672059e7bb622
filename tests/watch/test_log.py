"""Nothing of a record leaves the process by its log, at whatever level, by whatever library."""

import ast
import asyncio
import gc
import io
import json
import logging
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import structlog
from aiokafka import AIOKafkaProducer
from aiokafka.errors import (
    KafkaConnectionError,
    KafkaError,
    NotEnoughReplicasError,
    TopicAuthorizationFailedError,
)
from aiokafka.structs import TopicPartition
from pydantic import BaseModel, ValidationError

from meteragent.errors import KeyRefused
from meteragent.watch import log
from meteragent.watch.remarks import REMARKS

MARKER = "meter-4711-used-1234.5W"
TOPIC = "meter.readings"


class Reading(BaseModel):
    value: float


@pytest.fixture
def said() -> Iterator[io.StringIO]:
    """What is said at debug level; the logging of this process is put back afterwards."""
    root = logging.getLogger()
    handlers, level, raising = root.handlers[:], root.level, logging.raiseExceptions
    hooks = sys.excepthook, sys.unraisablehook, threading.excepthook
    stream = io.StringIO()
    log.configure("debug", names=frozenset({TOPIC}), stream=stream)
    yield stream
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(capture=False)
    logging.raiseExceptions = raising
    sys.excepthook, sys.unraisablehook, threading.excepthook = hooks
    structlog.reset_defaults()


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    assert MARKER not in stream.getvalue()
    return [json.loads(line) for line in stream.getvalue().splitlines()]


# What we say


def test_a_line_has_an_event_its_severity_its_time_and_listed_fields(said: io.StringIO) -> None:
    structlog.get_logger().info("committed", topic=TOPIC, partitions=[0, 1], releases=17)
    [line] = lines(said)
    assert list(line)[:3] == ["timestamp", "level", "event"]
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "event": "committed",
        "level": "info",
        "topic": TOPIC,
        "partitions": [0, 1],
        "releases": 17,
    }


def test_a_field_that_is_not_listed_is_not_shown(said: io.StringIO) -> None:
    structlog.get_logger().debug("decoded", meter=MARKER, value=1234.5, payload=MARKER.encode())
    [line] = lines(said)
    assert (line["meter"], line["value"], line["payload"]) == ("…", "…", "…")


@pytest.mark.parametrize("value", [MARKER.encode(), {"a": MARKER}, {MARKER}, Path(MARKER), [[{1}]]])
def test_a_listed_field_shows_names_and_counts_only(said: io.StringIO, value: object) -> None:
    structlog.get_logger().info("committed", topic=value)
    [line] = lines(said)
    assert line["topic"] in ("…", [["…"]])


@pytest.mark.parametrize("value", [None, True, 7, 0.5, "name", ["a", 1]])
def test_names_and_counts_are_shown_as_they_are(said: io.StringIO, value: object) -> None:
    structlog.get_logger().info("committed", topic=value)
    assert lines(said)[0]["topic"] == value


def test_an_exception_as_a_field_shows_its_type(said: io.StringIO) -> None:
    structlog.get_logger().info("retrying", error=ConnectionResetError(104, MARKER))
    assert lines(said)[0]["error"] == "ConnectionResetError[ECONNRESET]"


def bad_reading() -> ValidationError:
    with pytest.raises(ValidationError) as refused:
        Reading.model_validate_json(f'{{"value": "{MARKER}"}}')
    assert MARKER in str(refused.value)
    return refused.value


@pytest.mark.parametrize("how", ["exception", "true", "tuple"])
def test_an_exception_that_quotes_a_payload_is_told_by_type_and_place(
    said: io.StringIO, how: str
) -> None:
    try:
        raise bad_reading()
    except ValidationError as error:
        given: Any = {"exception": error, "true": True, "tuple": sys.exc_info()}[how]
        structlog.get_logger().error("failed", exc_info=given)
    [line] = lines(said)
    assert line["error"] == "ValidationError"
    assert "test_log.py" in line["at"][0]
    assert "message" not in line


def test_no_exception_is_no_field(said: io.StringIO) -> None:
    structlog.get_logger().error("failed", exc_info=True)
    structlog.get_logger().error("failed", exc_info=(None, None, None))
    assert all(line.keys() == {"event", "level", "timestamp"} for line in lines(said))


def test_an_exception_of_ours_is_told_with_its_text(said: io.StringIO) -> None:
    structlog.get_logger().error("refused", exc_info=KeyRefused("a", "is open", "close it"))
    assert lines(said)[0]["message"] == "noise key a: is open; close it"


@pytest.mark.parametrize("error", REMARKS, ids=lambda error: error.__name__)
def test_an_error_of_kafkas_clients_that_somebody_must_act_on_is_told_in_words_of_ours(
    said: io.StringIO, error: type[KafkaError]
) -> None:
    structlog.get_logger().error("failed", exc_info=error(MARKER))
    [line] = lines(said)
    assert line["error"] == error.__name__
    assert line["message"] == REMARKS[error]


def test_levels_below_the_one_asked_for_are_not_said(said: io.StringIO) -> None:
    log.configure("error", stream=said)
    for level in ("debug", "info", "warning", "error"):
        getattr(structlog.get_logger(), level)(level)
    logging.getLogger("aiokafka").warning("of a library")
    logging.getLogger("aiokafka").error("worse, of a library")
    assert [line["event"] for line in lines(said)] == ["error", "worse, of a library"]


def test_people_may_read_it_too(said: io.StringIO) -> None:
    log.configure("info", "console", stream=said)
    structlog.get_logger().info("committed", topic=TOPIC, meter=MARKER)
    text = said.getvalue()
    assert "committed" in text
    assert f"topic={TOPIC}" in text
    assert MARKER not in text
    assert text.count("\n") == 1


def test_a_full_disk_or_a_closed_terminal_stops_nothing() -> None:
    with Path("/dev/full").open("w") as full:
        lines = log._Lines(full)
        with pytest.raises(OSError, match="No space left"):
            print("x" * 100_000, file=full, flush=True)
        lines.error("x" * 100_000)
    lines.error("closed by now")


# What libraries say


def test_libraries_are_heard_from_warning_up_whatever_was_asked_for(said: io.StringIO) -> None:
    producer = logging.getLogger("aiokafka.producer.producer")
    producer.setLevel(logging.DEBUG)
    try:
        producer.debug("Sending (key=%s value=%s) to %s", MARKER, MARKER.encode(), 3)
        producer.info("Sending (key=%s value=%s) to %s", MARKER, MARKER.encode(), 3)
        assert said.getvalue() == ""
        producer.warning("Sending (key=%s value=%s) to %s", MARKER, MARKER.encode(), 3)
    finally:
        producer.setLevel(logging.NOTSET)
    [line] = lines(said)
    assert line["event"] == "Sending (key=… value=…) to 3"
    assert line["logger"] == "aiokafka.producer.producer"
    assert line["where"].startswith("test_log:")


def test_aiokafka_itself_is_heard_and_names_no_server_but_the_known(said: io.StringIO) -> None:
    async def connect() -> None:
        producer = AIOKafkaProducer(bootstrap_servers="127.0.0.1:1", request_timeout_ms=500)
        try:
            with pytest.raises(KafkaConnectionError):
                await producer.start()
        finally:
            await producer.stop()

    asyncio.run(connect())
    [line] = lines(said)
    assert line["event"] == 'Unable connect to "…:1": ConnectionRefusedError[ECONNREFUSED]'


@pytest.mark.parametrize(
    ("template", "arguments", "event"),
    [
        ("Topic %s not found", (TOPIC,), f"Topic {TOPIC} not found"),
        ("Topic %s not found", (MARKER,), "Topic … not found"),
        ("Failed fetch from %s: %s", (3, OSError(111, MARKER)), "Failed fetch from 3: Connect"),
        ("Cannot send %r: %s", (Reading, KeyError(MARKER)), "Cannot send 'Reading': KeyError"),
        ("Could not commit %s", (TopicPartition(TOPIC, 1),), f"Could not commit ('{TOPIC}', 1)"),
        ("Could not commit %s", ({MARKER: 1},), "Could not commit %s"),
        ("Of %s and %s", (1,), "Of %s and %s"),
        ("Took %d ms", (MARKER,), "Took %d ms"),
        ("100% sure", (), "100% sure"),
        ("List %s", ([MARKER],), "List …"),
    ],
)
def test_a_template_shows_its_numbers_types_and_known_names(
    said: io.StringIO, template: str, arguments: tuple[object, ...], event: str
) -> None:
    logging.getLogger("aiokafka.consumer").error(template, *arguments)
    [line] = lines(said)
    assert line["event"].startswith(event)
    assert line["level"] == "error"


def test_an_exception_in_a_library_is_told_without_its_text(said: io.StringIO) -> None:
    try:
        raise bad_reading()
    except ValidationError:
        logging.getLogger("aiokafka.consumer.fetcher").exception("Unexpected error in fetcher")
    [line] = lines(said)
    assert (line["event"], line["error"]) == ("Unexpected error in fetcher", "ValidationError")


def test_words_of_other_libraries_are_withheld(said: io.StringIO) -> None:
    logging.getLogger("elsewhere").error("cannot parse " + MARKER)  # noqa: G003 - as others do
    [line] = lines(said)
    assert (line["event"], line["logger"]) == (log.WITHHELD, "elsewhere")


def test_a_warning_is_told_without_its_text(said: io.StringIO) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(False)  # noqa: FBT003 - whoever did before, pytest undid it
        log.configure("debug", stream=said)
        warnings.warn(MARKER, UserWarning, stacklevel=1)
    assert lines(said)[0]["logger"] == "py.warnings"


def test_a_task_that_fails_unseen_is_told_without_what_it_raised(said: io.StringIO) -> None:
    async def fail(payload: str) -> None:
        raise ValueError(payload)

    async def lose_a_task() -> None:
        task = asyncio.create_task(fail(MARKER))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        del task
        gc.collect()

    asyncio.run(lose_a_task(), debug=True)
    [line] = [line for line in lines(said) if line["level"] == "error"]
    assert (line["logger"], line["error"]) == ("asyncio", "ValueError")


def test_exceptions_that_nobody_catches_are_told_without_their_texts(said: io.StringIO) -> None:
    class Careless:
        def __del__(self) -> None:
            raise ValueError(MARKER)

    def fail() -> None:
        raise KeyError(MARKER)

    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    Careless()
    gc.collect()
    sys.excepthook(OSError, OSError(MARKER), None)
    told = [(line["event"], line["error"]) for line in lines(said)]
    assert told == [("uncaught exception", e) for e in ("KeyError", "ValueError", "OSError")]


# What the sources say


def calls(package: str) -> Iterator[tuple[str, ast.Call, str]]:
    """Every call in a package of a method named as a level, on something named as a logger."""
    spec = find_spec(package)
    assert spec
    [root] = spec.submodule_search_locations or []
    for file in sorted(Path(root).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.expr() as owner, attr=level)) if (
                    ast.unparse(owner).endswith(("log", "logger", "get_logger()"))
                ):
                    yield f"{file.name}:{node.lineno}", node, level


def is_literal(call: ast.Call) -> bool:
    return isinstance(call.args[0], ast.Constant)


def test_every_template_of_aiokafka_that_is_heard_is_a_literal() -> None:
    """What `_LITERAL_TEMPLATES` relies on: no template that has a value in it already."""
    heard = [
        (place, call)
        for place, call, level in calls("aiokafka")
        if level in {"warning", "error", "exception", "critical", "log"}
    ]
    assert len(heard) > 50
    assert [place for place, call in heard if not is_literal(call)] == []


def test_every_event_of_ours_is_a_literal_and_every_field_is_listed() -> None:
    levels = {"debug", "info", "warning", "error", "exception", "critical"}
    ours = [found for found in calls("meteragent") if found[2] in levels]
    assert ours
    allowed = {*log.FIELDS, "exc_info"} - {"event", "level", "timestamp"}
    for place, call, _ in ours:
        assert is_literal(call), place
        assert len(call.args) == 1, place
        assert {keyword.arg for keyword in call.keywords} <= allowed, place


@pytest.mark.parametrize("error", [NotEnoughReplicasError, NotEnoughReplicasError()])
def test_an_error_that_a_library_gets_over_is_said_if_it_lasts(
    said: io.StringIO, monkeypatch: pytest.MonkeyPatch, error: object
) -> None:
    """
    heard  xxxxxxxxx            xxxxxxxx    a letter is a second and a half
    said     xxxxxxx              xxxxxx
    """
    log.configure(stream=said)
    for at in (*range(9), *range(21, 29)):
        monkeypatch.setattr(time, "time", partial(float, 1_000_000 + 1.5 * at))
        logging.getLogger("aiokafka.producer.sender").warning("retrying. Error: %s", error)
    told = [line["event"] for line in lines(said)]
    assert told == ["retrying. Error: NotEnoughReplicasError"] * (7 + 6)


def test_an_error_that_does_not_pass_is_said_at_once(said: io.StringIO) -> None:
    log.configure(stream=said)
    logging.getLogger("aiokafka").error("failed: %s", TopicAuthorizationFailedError())
    assert lines(said)[0]["event"] == "failed: TopicAuthorizationFailedError"


def test_a_library_that_repeats_itself_is_heard_once_a_second(said: io.StringIO) -> None:
    log.configure(stream=said)
    for _ in range(400):
        logging.getLogger("aiokafka.conn").error("connect failed")
    logging.getLogger("aiokafka.conn").error("another place is heard")
    assert len(said.getvalue().splitlines()) == 2
