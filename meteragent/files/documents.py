"""Whole documents -> lines of JSON: what cannot be read line by line is converted before.

An array of JSON becomes a line for each of its objects, as they are. NEM12 (AEMO) and ESPI (Green
Button) become canonical blocks in watts: energy by the length of its interval, as a ratio of
integers. What is no consumption of active energy is left out, and counted. Telegrams of a P1 port
become a line each, as their parser calls what they say.
"""

import csv
import json
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from io import BytesIO
from typing import Any

from meteragent.errors import InputDamaged

_HOUR_MS = 3_600_000
_MARKET = timezone(timedelta(hours=10))
"""NEM12 is in the time of the market, whatever clocks show."""
_WATT_HOURS = {"WH": 1, "KWH": 1000, "MWH": 1_000_000}
_ATOM = "{http://www.w3.org/2005/Atom}"
_ESPI = "{http://naesb.org/espi}"
_ELECTRICITY, _WH, _W, _DELTA, _FORWARD = "1", "72", "38", "4", "1"

Lines = Iterator[dict[str, Any]]


class Converter:
    """Converts one document; counts what it leaves out."""

    def __init__(self, name: str, content: bytes) -> None:
        self._name = name
        self._content = content
        self.left_out = 0
        """Channels that are no consumption."""
        self.damaged = 0
        """Telegrams that are not whole."""

    def lines(self) -> Lines:
        """Each is a document of its own. InputDamaged: it is none that is known."""
        begin = self._content.lstrip()[:16]
        if begin.startswith(b"["):
            return self._array()
        if begin.startswith(b"100,NEM12"):
            return self._nem12()
        if begin.startswith(b"<"):
            return self._espi()
        if begin.startswith(b"/"):
            return self._telegrams()
        raise self._damaged(
            "is not a JSON array, NEM12, ESPI or telegrams", "see meteragent inspect"
        )

    def _damaged(self, problem: str, instead: str) -> InputDamaged:
        return InputDamaged(self._name, 1, problem, instead)

    def _array(self) -> Lines:
        try:
            found = json.loads(self._content, parse_float=Decimal)
        except ValueError:
            raise self._damaged("is not JSON", "fetch it again") from None
        for one in found:
            if not isinstance(one, dict):
                raise self._damaged(
                    "holds something other than objects", "write an array of objects"
                )
            yield one

    def _telegrams(self) -> Lines:
        try:
            from meteragent.files.telegrams import Telegrams  # noqa: PLC0415 - an extra
        except ImportError:
            instead = "pip install 'meteragent[telegrams]'"
            raise self._damaged("is a telegram, which dsmr-parser reads", instead) from None
        found = Telegrams(self._content)
        yield from found
        self.damaged = found.damaged

    # NEM12.

    def _nem12(self) -> Lines:
        rows = csv.reader(self._content.decode("utf-8", "replace").splitlines())
        channel: tuple[str, int, int] | None = None
        blocks: list[dict[str, Any]] = []
        try:
            for row in rows:
                kind = row[0] if row else ""
                if kind == "200":
                    channel = self._channel(row)
                elif kind == "300" and channel is not None:
                    blocks.append(_day(row, *channel))
                elif kind == "400" and channel is not None:
                    _mark(blocks[-1]["values"], row)
        except (IndexError, ValueError, ArithmeticError):
            problem = f"is not NEM12 in row {rows.line_num}"
            raise self._damaged(problem, "fetch it again") from None
        yield from blocks

    def _channel(self, row: list[str]) -> tuple[str, int, int] | None:
        """The meter, its interval, and how many watt-hours one is; None: no consumption."""
        nmi, suffix, unit, minutes = row[1], row[4], row[7].upper(), int(row[8])
        if not suffix.startswith("E") or unit not in _WATT_HOURS:
            self.left_out += 1
            return None
        return f"{nmi}:{suffix}", minutes * 60_000, _WATT_HOURS[unit]

    # ESPI.

    def _espi(self) -> Lines:
        try:
            from lxml import etree  # noqa: PLC0415 - an extra
        except ImportError:
            instead = "pip install 'meteragent[xml]'"
            raise self._damaged("is XML, which lxml reads", instead) from None
        parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
        try:
            feed = etree.parse(BytesIO(self._content), parser).getroot()
        except etree.XMLSyntaxError:
            raise self._damaged("is not XML", "fetch it again") from None
        entries = feed.findall(f"{_ATOM}entry")
        types = _by_link(entries, "ReadingType")
        readings = _by_link(entries, "MeterReading")
        if not types:
            raise self._damaged("is XML, but not ESPI with a ReadingType", "ask for all of it")
        for href, (entry, _) in _by_link(entries, "IntervalBlock").items():
            watts = _watts_of(_type_of(href, readings, types))
            if watts is None:
                self.left_out += 1
                continue
            for block in entry.iter(f"{_ESPI}IntervalBlock"):
                yield from _intervals(_usage_point(href), block, *watts)


def _day(row: list[str], meter: str, interval: int, size: int) -> dict[str, Any]:
    start = datetime.strptime(row[1], "%Y%m%d").replace(tzinfo=_MARKET)
    count = 24 * _HOUR_MS // interval
    per_interval = Fraction(size * _HOUR_MS, interval)
    absent = row[2 + count].startswith("N")
    values = [None if absent else _milliwatts(Fraction(v) * per_interval) for v in row[2:][:count]]
    return _block(meter, int(start.timestamp()) * 1000, interval, values)


def _mark(values: list[Any], row: list[str]) -> None:
    """Take out what a row of events says is none."""
    if row[3][:1] == "N":
        first, last = int(row[1]), int(row[2])
        values[first - 1 : last] = [None] * (last - first + 1)


def _block(meter: str, start: int, interval: int, values: list[Any]) -> dict[str, Any]:
    return {"meter_id": meter, "start": start, "interval_ms": interval, "values": values}


def _milliwatts(watts: Fraction) -> Decimal:
    return Decimal(watts * 1000 // 1) / 1000


def _by_link(entries: list[Any], kind: str) -> dict[str, tuple[Any, list[str]]]:
    """The entries that hold one of this kind, by their own address, with related ones."""
    found = {}
    for entry in entries:
        if entry.find(f"{_ATOM}content/{_ESPI}{kind}") is not None:
            links = [(one.get("rel"), one.get("href", "")) for one in entry.findall(f"{_ATOM}link")]
            own = next((href for rel, href in links if rel == "self"), "")
            found[own] = (entry, [href for rel, href in links if rel == "related"])
    return found


def _type_of(block: str, readings: dict[str, Any], types: dict[str, Any]) -> Any:  # noqa: ANN401
    """The entry of the reading type of a block; the only one there is, or that of its reading."""
    if len(types) == 1:
        return next(iter(types.values()))[0]
    for reading, (_, related) in readings.items():
        if block.startswith(f"{reading}/"):
            return next((types[href][0] for href in related if href in types), None)
    return None


def _watts_of(entry: Any) -> tuple[Fraction, bool] | None:  # noqa: ANN401 - lxml has no types
    """Watts (or watt-hours, if true) in one of its numbers; None: no consumption."""

    def said(name: str, usual: str) -> str:
        return str(entry.findtext(f".//{_ESPI}{name}") or usual)

    if entry is None or said("flowDirection", _FORWARD) != _FORWARD:
        return None
    if said("commodity", _ELECTRICITY) not in {"0", _ELECTRICITY}:
        return None
    size = Fraction(10) ** int(said("powerOfTenMultiplier", "0"))
    unit = said("uom", "")
    if unit == _W:
        return size, False
    is_energy = unit == _WH and said("accumulationBehaviour", "") == _DELTA
    return (size, True) if is_energy else None


def _usage_point(href: str) -> str:
    steps = href.split("/")
    at = steps.index("UsagePoint") + 1 if "UsagePoint" in steps[:-1] else -1
    return steps[at] or href


def _intervals(meter: str, block: Any, size: Fraction, energy: bool) -> Lines:  # noqa: ANN401, FBT001
    for reading in block.iter(f"{_ESPI}IntervalReading"):
        seconds = int(reading.findtext(f"{_ESPI}timePeriod/{_ESPI}duration"))
        start = int(reading.findtext(f"{_ESPI}timePeriod/{_ESPI}start"))
        number = Fraction(reading.findtext(f"{_ESPI}value")) * size
        watts = number * Fraction(3600, seconds) if energy else number
        yield _block(meter, start * 1000, seconds * 1000, [_milliwatts(watts)])
