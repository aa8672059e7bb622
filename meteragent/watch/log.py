"""One way out for everything that is said on standard error, and a gate before it.

The log is on the untrusted side. So a line consists of a fixed event and of the fields listed
here, whose values are names and counts; any other field shows as "…". Exceptions are
described without their texts (`trace`).

Libraries log through the standard library: aiokafka writes keys and values of records at
debug level (`aiokafka.producer.producer`: "Sending (key=%s value=%s)", `aiokafka.conn`: whole
responses), and so does asyncio with the arguments of callbacks. They are heard from WARNING
up, whatever level was asked for; of aiokafka, whose templates are literals (a test reads its
source), the template with its numbers and known names, of all others only the place.
"""

import logging
import sys
import threading
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Any, Literal, TextIO

import structlog
from aiokafka.errors import KafkaError
from structlog.typing import EventDict, Processor, WrappedLogger

from meteragent.watch import trace
from meteragent.watch.remarks import remark

_Place = tuple[str, str, int]
Level = Literal["debug", "info", "warning", "error"]

FIELDS = {
    # what every line begins with
    "timestamp": "when, in UTC",
    "level": "how severe it is",
    "event": "what happened",
    # where in the streams
    "topic": "a topic of the configuration",
    "partition": "one partition",
    "partitions": "several",
    "offset": "a position in the partition",
    "lag": "records not yet read",
    "group": "the consumer group",
    "policy": "the id or name of a policy",
    # what happened
    "state": "of a partition's life",
    "reason": "one of an enumeration",
    "records": "how many",
    "readings": "how many",
    "windows": "how many",
    "releases": "how many",
    "suppressed": "how many",
    "rejects": "how many",
    "late": "how many",
    "duplicates": "how many",
    "meters": "how many",
    "attempt": "the how-manieth",
    "seconds": "how long it took",
    "retry_in": "seconds until the next attempt",
    "ahead": "seconds that this machine's clock is ahead of the brokers', at least",
    "signal": "of the operating system",
    "process": "which of several of an instance",
    "processes": "how many",
    "code": "that a process ended with",
    "servers": "of the configuration",
    "address": "where the status page listens",
    "version": "of the program",
    # what went wrong
    "error": "the type of an exception",
    "message": "what it means, in words of ours",
    "because": "the types of its causes",
    "at": "the frames that it passed",
    "logger": "the library that said it",
    "where": "the place in the library",
}
"""The fields that a line may have, in their order; what is not listed is not shown."""

HIDDEN = "…"
WITHHELD = "message of a library withheld"
REPEAT_SECONDS = 1.0
LASTING_SECONDS = 3.0
"""What is retried for longer is said ..."""
OVER_SECONDS = 10.0
"""... and over when it was not heard of for as long."""
_LITERAL_TEMPLATES = ("aiokafka",)


def configure(
    level: Level = "info",
    form: Literal["json", "console"] = "json",
    *,
    names: frozenset[str] = frozenset(),
    process: int | None = None,
    stream: TextIO | None = None,
) -> None:
    """Send all that is said through the gate; `names` are those that libraries may mention.

    One of several processes says in each line which of them it is.
    """
    least = logging.getLevelNamesMapping()[level.upper()]
    stream = stream or sys.stderr
    lines = _Lines(stream)
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _describe_exception,
            partial(_name_process, process),
            _show_listed,
            _renderer(form, stream),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(least),
        logger_factory=lambda *_: lines,
    )
    root = logging.getLogger()
    root.handlers[:] = [_Libraries(max(logging.WARNING, least), names)]
    root.setLevel(logging.WARNING)
    logging.captureWarnings(capture=True)
    logging.raiseExceptions = False  # or a faulty log call would print its arguments
    _catch_strays()


class _Lines:
    """Writes lines, and goes on when they cannot be written: the agent outlives its terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def msg(self, line: str) -> None:
        with self._lock, suppress(OSError, ValueError):
            self._stream.write(line + "\n")
            self._stream.flush()

    debug = info = warning = error = critical = msg


class _Libraries(logging.Handler):
    """Takes what libraries say, without what they quote, and not the same all the time.

    While brokers are away, aiokafka says so hundreds of times a second. Of an error that it gets
    over by trying again it speaks at the first try, as at the first transaction of any broker that
    is new: that is passed on if it lasts.
    """

    def __init__(self, level: int, names: frozenset[str]) -> None:
        super().__init__(level)
        self._names = names
        self._said: dict[_Place, float] = {}
        self._heard: dict[_Place, tuple[float, float]] = {}
        """When an error that may pass was heard of first, and last."""

    def emit(self, record: logging.LogRecord) -> None:
        place = (record.name, record.module, record.lineno)
        if _may_pass(record) and not self._lasts(place, record.created):
            return
        if abs(record.created - self._said.get(place, 0.0)) < REPEAT_SECONDS:
            return
        self._said[place] = record.created
        say = structlog.get_logger()
        (say.error if record.levelno >= logging.ERROR else say.warning)(
            self._event(record),
            logger=record.name,
            where=f"{record.module}:{record.lineno}",
            exc_info=record.exc_info,
        )

    def _lasts(self, place: _Place, now: float) -> bool:
        first, last = self._heard.get(place, (now, now))
        if abs(now - last) > OVER_SECONDS:
            first = now
        self._heard[place] = first, now
        return abs(now - first) >= LASTING_SECONDS

    def _event(self, record: logging.LogRecord) -> str:
        if record.name.partition(".")[0] not in _LITERAL_TEMPLATES:
            return WITHHELD
        template, arguments = str(record.msg), record.args or ()
        if not isinstance(arguments, tuple):
            return template
        try:
            return str(template % self._named(arguments))
        except (TypeError, ValueError):
            return template

    def _named(self, quoted: object) -> Any:  # noqa: ANN401 - what a template takes
        if isinstance(quoted, tuple):
            return tuple(map(self._named, quoted))
        if isinstance(quoted, BaseException):
            return trace.kind(quoted)
        if isinstance(quoted, type):
            return quoted.__name__
        known = isinstance(quoted, int | float) or (
            isinstance(quoted, str) and quoted in self._names
        )
        return quoted if known else HIDDEN


def _may_pass(record: logging.LogRecord) -> bool:
    """Whether it is about an error of Kafka's after which the same call may work."""
    arguments = record.args if isinstance(record.args, tuple) else ()
    kinds = (one if isinstance(one, type) else type(one) for one in arguments)
    return any(issubclass(kind, KafkaError) and getattr(kind, "retriable", False) for kind in kinds)


def _name_process(number: int | None, _: WrappedLogger, __: str, event: EventDict) -> EventDict:
    return event if number is None else {**event, "process": number}


def _describe_exception(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    given = event.pop("exc_info", None)
    error = sys.exception() if given is True else given[1] if isinstance(given, tuple) else given
    if error is None:
        return event
    words = {"message": known} if (known := remark(error)) else {}
    return {**event, **words, **trace.described(error)}


def _show_listed(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    listed = {key: _shown(event[key]) for key in FIELDS if key in event}
    return listed | {key: HIDDEN for key in event if key not in FIELDS}


def _shown(value: object) -> object:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, BaseException):
        return trace.kind(value)
    return [_shown(part) for part in value] if isinstance(value, list | tuple) else HIDDEN


def _renderer(form: str, stream: TextIO) -> Processor:
    if form == "console":
        return structlog.dev.ConsoleRenderer(colors=stream.isatty())
    return structlog.processors.JSONRenderer()


def _catch_strays() -> None:
    """Exceptions that nobody catches would be printed with their texts."""

    def say(error: BaseException | None) -> None:
        structlog.get_logger().error("uncaught exception", exc_info=error)

    def hook(_: type[BaseException], error: BaseException, __: TracebackType | None) -> None:
        say(error)

    sys.excepthook = hook
    sys.unraisablehook = lambda stray: say(stray.exc_value)
    threading.excepthook = lambda stray: say(stray.exc_value)
