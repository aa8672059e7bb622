"""What an input probably says: which field is the time, which the value, and in which unit.

Guesses are for people to look at; nothing is released by them.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC
from itertools import pairwise, repeat
from typing import Any, NamedTuple

from meteragent.config.recipes import recipes
from meteragent.files.fields import Fields
from meteragent.formats.mapping import NOTHING_READ
from meteragent.formats.quantity import UNITS, unit_in, unit_of
from meteragent.formats.times import TimeFormat

_PATTERNS = (
    *("%d/%m/%Y %H:%M:%S", "%d/%m/%Y %H:%M", "%d.%m.%Y %H:%M:%S", "%d.%m.%Y %H:%M"),
    *("%Y/%m/%d %H:%M:%S", "%Y/%m/%d %H:%M", "%m/%d/%Y %H:%M:%S", "%m/%d/%Y %H:%M"),
    *("%d-%m-%Y %H:%M:%S", "%d-%m-%Y %H:%M", "%Y%m%d%H%M%S", "%Y%m%d%H%M"),
)
_METER = re.compile(
    r"meter|device|sensor|serial|cups|nmi|mpan|mprn|prm|lclid|mrid|unique|(^|[._])id$|^src$",
    re.IGNORECASE,
)
_VALUE = re.compile(
    r"power|watt|k?wh|value|valeur|consum|load|energ|usage|demand|mean|volume|flow", re.IGNORECASE
)
_NO_VALUE = re.compile(
    r"volt|current|amp|freq|factor|reactive|apparent|temp|signal|quality|version|total|today",
    re.IGNORECASE,
)
_ZONED = re.compile(r"(Z|[+-][0-9]{2}:[0-9]{2})$")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
_OF_SECONDS = 10
"""Figures of today's seconds since the epoch."""
_QUALITY = re.compile(r"quality|status|flag|validity", re.IGNORECASE)
_ABSENT = re.compile(r"missing|absent|invalid|error|no.?(data|value|read)|gap|bad", re.IGNORECASE)
"""Marks of readings that are none; what an estimate is worth is the reader's to say."""
_MOST_MARKS = 20
_HARDLY_MORE = 1.2
"""What a register shows at the end of some lines, by what it shows at their beginning."""
_KILO = 50.0
"""Homes seldom take more kilowatts, and seldom fewer watts."""


def explicit_form(fields: Fields) -> str:
    """How times are written, of an input that is canonical but for the types of its fields."""
    return "unix_ms" if fields.values["ts"][0].isdigit() else "iso"


class Guess(NamedTuple):
    """What `[input]` probably has to say."""

    settings: dict[str, Any]
    missing: dict[str, str]
    """Settings that nobody can guess, each with an example."""
    remarks: list[str]
    """What else to know."""


def guess(fields: Fields) -> Guess:
    """From the fields of first lines."""
    settings, missing, remarks = dict(fields.settings), dict[str, str](), list[str]()
    if known := _recipes(fields.values):
        return _known(known, remarks)
    time = _time(fields.values)
    if time is None:
        missing["time"] = '"ts"'
    else:
        settings |= time.settings
        remarks += time.remarks
        if time.is_local:
            missing["timezone"] = '"Europe/Paris"'
    of_time = settings.get("time", ())
    left = {name: v for name, v in fields.values.items() if name not in of_time}
    value, meter = _value(left), _meter(left)
    if value is None:
        missing["value"] = '"power"'
    else:
        settings |= _quantity(value, left, meter, remarks)
        left.pop(value)
    settings |= ({"meter": meter} if meter else {}) | _quality(left, remarks)
    if "meter" not in settings and "meter_id" not in left:
        missing["only_meter"] = '"home-1"'
    return Guess(_unusual(settings), missing, remarks)


def _known(names: list[str], remarks: list[str]) -> Guess:
    name, *others = names
    recipe = recipes()[name]
    examples = {"timezone": '"Europe/Paris"', "only_meter": '"home-1"'}
    missing = {need: examples[need] for need in recipe.needs}
    remarks.append(recipe.about)
    remarks += (f"or, as {other}: {recipes()[other].about}" for other in others)
    return Guess({"format": name}, missing, remarks)


def _recipes(values: dict[str, list[str]]) -> list[str]:
    """The recipes all of whose fields are there by name; at the end those that say nothing."""
    found = []
    for name, recipe in recipes().items():
        says = recipe.input
        times = says["time"] if isinstance(says["time"], list) else [says["time"]]
        named = {*times, says["value"], *filter(None, [says.get("meter")])}
        if named <= values.keys() and not all(one.isdigit() for one in named):
            found.append((not any(_numbers(values[says["value"]])), name))
    return [name for _, name in sorted(found, key=lambda one: one[0])]


class _Time(NamedTuple):
    settings: dict[str, Any]
    is_local: bool
    remarks: list[str]


def _time(values: dict[str, list[str]]) -> _Time | None:
    """Where the time stands: in one field, or date and time in two."""
    for name, texts in values.items():
        if found := _as_times([name], texts):
            return found
    names = [*values]
    for date, time in pairwise(names):
        both = [f"{one} {other}" for one, other in zip(values[date], values[time], strict=False)]
        if found := _as_times([date, time], both):
            return found
    return None


def _as_times(names: list[str], texts: Sequence[str]) -> _Time | None:
    some = [text for text in texts if text][:200]
    fitting = [form for form in ("auto", *_PATTERNS) if some and all(_reads(form, some))]
    if not fitting:
        return None
    form, remarks = fitting[0], list[str]()
    if any(one.startswith("%m/%d") for one in fitting[1:]):
        remarks.append("days and months cannot be told apart here: look at time_format")
    in_figures = form == "auto" and some[0].replace(".", "").isdigit()
    settings = {"time": names[0] if len(names) == 1 else names, "time_format": form}
    if in_figures and len(some[0].partition(".")[0]) == _OF_SECONDS:
        settings["time_format"] = "unix"
    return _Time(settings, not in_figures and not _ZONED.search(some[0]), remarks)


def _reads(form: str, texts: Sequence[str]) -> Iterator[bool]:
    times = TimeFormat(form, UTC, at_ends=True)
    for text in texts:
        try:
            times.one(text)
        except (ValueError, OverflowError):
            yield False
        else:
            yield True


def _numbers(texts: Sequence[str]) -> list[float]:
    """All of them that are some, or nothing if others are there too."""
    plain = [t.strip() for t in texts if t.strip().lower() not in NOTHING_READ]
    points = [t.replace(",", ".") if _COMMA.fullmatch(t) else t for t in plain]
    return [*map(float, points)] if all(map(_NUMBER.fullmatch, points)) else []


def _value(values: dict[str, list[str]]) -> str | None:
    """The field that is most likely the one to be released."""
    numeric = [name for name, texts in values.items() if _numbers(texts)]
    marks = {
        name: 2 * bool(_VALUE.search(name)) + bool(unit_in(name)) - 3 * bool(_NO_VALUE.search(name))
        for name in numeric
        if not _METER.search(name)
    }
    return max(marks, key=lambda name: marks[name], default=None)


def _quantity(
    name: str, values: dict[str, list[str]], meter: str | None, remarks: list[str]
) -> dict[str, Any]:
    """What the value is, and in which unit."""
    numbers, unit = _numbers(values[name]), unit_in(name) or _unit_beside(values)
    remarks.append(f"values are {min(numbers):g} to {max(numbers):g}")
    of_each: dict[str, list[float]] = {}
    for whose, number in zip(values[meter] if meter else repeat(""), numbers, strict=False):
        of_each.setdefault(whose, []).append(number)
    settings: dict[str, Any] = {"value": name} | _kind(unit, numbers, of_each, remarks)
    if any(map(_COMMA.fullmatch, values[name])):
        settings["decimal"] = "comma"
    return settings


def _unit_beside(values: dict[str, list[str]]) -> str | None:
    """What a field of that name says, if all of it is one."""
    said = {unit_of(text) for name, v in values.items() if "unit" in name.lower() for text in v}
    return said.pop() if len(said) == 1 else None


def _kind(
    unit: str | None,
    numbers: list[float],
    of_each: dict[str, list[float]],
    remarks: list[str],
) -> dict[str, Any]:
    is_energy = unit in UNITS["energy"]
    if is_register := any(_only_rise(its, 3 if is_energy else 20) for its in of_each.values()):
        remarks.append("values only rise, as those of a register do: look at kind")
    if is_energy and is_register:
        return {"kind": "register", "unit": unit}
    if is_energy:
        return {"kind": "energy", "unit": unit}
    if unit is None and max(map(abs, numbers)) < _KILO:
        remarks.append("no unit is said; numbers this small are probably kW, or kWh: look at unit")
        return {"unit": "kW"}
    return {"unit": unit or "W"}


def _only_rise(numbers: list[float], few: int) -> bool:
    """Whether they are as those of a register, which may have been exchanged, or rolled over, once.

    What it shows then is seldom far from what it showed at first, before that and after it.
    """
    falls = [at for at, (one, other) in enumerate(pairwise(numbers), 1) if other < one]
    if len({*numbers}) < few or len(falls) > 1:
        return False
    parts = [numbers[: falls[0]], numbers[falls[0] :]] if falls else [numbers]
    return all(part[-1] < _HARDLY_MORE * part[0] or len(part) == 1 for part in parts)


def _meter(values: dict[str, list[str]]) -> str | None:
    """Whose the readings are."""
    named = [name for name in values if _METER.search(name)]
    return min(named, key=lambda name: len({*values[name]}), default=None)


def _quality(values: dict[str, list[str]], remarks: list[str]) -> dict[str, Any]:
    """Which readings are none."""
    for name, texts in values.items():
        marks = sorted({*texts} - {""})
        absent = [mark for mark in marks if _ABSENT.search(mark)]
        if _QUALITY.search(name) and absent and len(marks) <= _MOST_MARKS:
            remarks.append(f"{name} says {', '.join(marks)}: look at absent and rejected")
            return {"quality": name, "absent": absent}
    return {}


def _unusual(settings: dict[str, Any]) -> dict[str, Any]:
    """Without what holds anyhow."""
    usual = {"meter": "meter_id", "time": "ts", "value": "value", "time_format": "auto"}
    return {n: s for n, s in settings.items() if usual.get(n) != s and (n, s) != ("unit", "W")}
