"""What one record means: a reading or an interval block, or the reason why it is neither.

The rules are said once, as types that pydantic judges by and publishes as JSON Schema. A
record that is a good `Reading` is one, else it may be a good `Block`; unknown keys are
ignored, and of a repeated key the last one counts.

An `account` is whose home it is, whatever meter hangs there: where there is one, the record is
that home's, under this name, so that a meter can be exchanged in the midst of a window.
"""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal, NotRequired, cast

from pydantic import AfterValidator, FailFast, Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from meteragent.stream.readings import Reason

MOST_BYTES = 2**20
"""Of a record, not counting what numbers are written with: see `is_too_large`."""
MOST_VALUES = 100_000
LONGEST_NUMBER = 32
LONGEST_RECORD = MOST_BYTES + MOST_VALUES * LONGEST_NUMBER
"""No good record has more bytes."""
LONGEST_METER = 128
LATEST = 253_402_300_799_999
"""The last millisecond of the year 9999."""

CONTROL = r"\x00-\x1f\x7f-\x9f"
RFC3339 = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?"
    r"(Z|[+-][0-9]{2}:[0-9]{2})"
)

Fields = dict[str, Any]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def milliseconds(moment: str) -> int:
    """An RFC 3339 time as milliseconds since the epoch, rounded down.

    Precondition: it has the shape of `RFC3339`. ValueError: there is no such time. A leap
    second, `:60`, is none: Unix time has none.
    """
    try:
        time = (datetime.fromisoformat(moment) - _EPOCH) // _MILLISECOND
    except ValueError:
        raise ValueError("not in the calendar") from None
    if not 0 <= time <= LATEST:
        raise ValueError("out of range")
    return time


def in_time(block: Fields) -> Fields:
    """The same block. ValueError: its last reading stands after the year 9999."""
    if block["start"] + (len(block["values"]) - 1) * block["interval_ms"] > LATEST:
        raise ValueError("out of range")
    return block


Meter = Annotated[
    str,
    Field(strict=True, min_length=1, max_length=LONGEST_METER, pattern=f"^[^{CONTROL}]*$"),
]
Time = Annotated[
    Annotated[int, Field(strict=True, ge=0, le=LATEST)]
    | Annotated[
        str,
        Field(strict=True, pattern=f"^{RFC3339}$"),
        AfterValidator(milliseconds),
    ],
    Field(union_mode="left_to_right"),
]
Interval = Annotated[int, Field(strict=True, ge=1, le=LATEST)]
Value = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Values = Annotated[list[Value | None], Field(min_length=1, max_length=MOST_VALUES), FailFast()]
Unit = Literal["W", "kW"]


class Reading(TypedDict):
    """One value at one time."""

    meter_id: Meter
    account: NotRequired[Meter]
    ts: Time
    value: Value
    unit: NotRequired[Unit]


class Block(TypedDict):
    """Values an interval apart, the first one at `start`; null where there is none."""

    meter_id: Meter
    account: NotRequired[Meter]
    start: Time
    interval_ms: Interval
    values: Values
    unit: NotRequired[Unit]


class Either(TypedDict, total=False):
    """A reading or a block whose fields are good, each by itself, but perhaps not all there."""

    meter_id: Meter
    account: Meter
    ts: Time
    value: Value
    start: Time
    interval_ms: Interval
    values: Values
    unit: Unit


EITHER = cast("TypeAdapter[list[Fields]]", TypeAdapter(Annotated[list[Either], FailFast()]))
READING = cast("TypeAdapter[Fields]", TypeAdapter(Reading))
BLOCK = cast("TypeAdapter[Fields]", TypeAdapter(Annotated[Block, AfterValidator(in_time)]))

_WHOLE = ""
_FAULTS = {
    "meter_id": Reason.BAD_METER,
    "account": Reason.BAD_METER,
    "ts": Reason.BAD_TIME,
    "start": Reason.BAD_TIME,
    _WHOLE: Reason.BAD_TIME,
    "interval_ms": Reason.BAD_INTERVAL,
    "value": Reason.BAD_VALUE,
    "values": Reason.BAD_VALUE,
    "unit": Reason.BAD_UNIT,
}


def is_too_large(record: bytes, most: int = MOST_BYTES) -> bool:
    """Whether a record is not worth parsing.

    Why not by its length: whether it is taken must not turn on how many digits its readings
    have. So the letters of numbers do not count, as long as there are no more of them than
    the most values need.
    """
    if len(record) <= most:
        return False
    if len(record) - most > MOST_VALUES * LONGEST_NUMBER:
        return True
    return len(record.translate(None, _OF_NUMBERS)) > most


_OF_NUMBERS = b"+-.0123456789Ee"


class BadRecord(Exception):
    """A record is neither a reading nor a block."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.value)
        self.reason = reason


def judge(message: bytes) -> Fields:
    """The fields of a good `Reading` or `Block`; one with `value` can only be a reading.

    BadRecord: it is neither, and why; the error keeps nothing of the message.
    """
    try:
        return READING.validate_json(message)
    except ValidationError as error:
        faults = _faults(error)
    if faults.get("value") == "missing":
        try:
            return BLOCK.validate_json(message)
        except ValidationError as error:
            faults = _faults(error)
    if next(iter(faults.values())) == "json_invalid":
        raise BadRecord(Reason.NOT_JSON if is_utf8(message) else Reason.NOT_UTF8)
    raise BadRecord(_reason(faults))


def judge_document(document: Fields) -> Fields:
    """The same of a document that was read already; what it says is absent, it does not say.

    BadRecord: it is neither, and why.
    """
    said = {key: value for key, value in document.items() if value is not None}
    kind = READING if "value" in said else BLOCK
    try:
        return kind.validate_python(said)
    except ValidationError as error:
        faults = _faults(error)
    raise BadRecord(_reason(faults))


def _faults(error: ValidationError) -> dict[str, str]:
    """The type of each field's first fault, in the order of the fields."""
    faults: dict[str, str] = {}
    for fault in error.errors(include_url=False, include_context=False, include_input=False):
        faults.setdefault(str(fault["loc"][0]) if fault["loc"] else _WHOLE, fault["type"])
    return faults


def _reason(faults: dict[str, str]) -> Reason:
    field, fault = next(iter(faults.items()))
    if fault == "dict_type" or "missing" in faults.values():
        return Reason.WRONG_SHAPE
    return _FAULTS[field]


def is_utf8(message: bytes) -> bool:
    """Whether it is text at all."""
    try:
        message.decode()
    except UnicodeDecodeError:
        return False
    return True
