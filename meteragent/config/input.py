"""The `[input]` table: how readings are written, where it is not in the canonical form."""

from typing import Literal

from pydantic import model_validator

from meteragent.config.fields import (
    Flag,
    Named,
    Settings,
    SomeTime,
    Text,
    TextOrNone,
    Texts,
    Whole,
    refuse,
    setting,
)
from meteragent.config.recipes import completed
from meteragent.errors import InvalidSetting
from meteragent.formats.csv_header import Columns
from meteragent.formats.mapping import REGISTERED, Mapping, Meaning, Stamp, Written
from meteragent.formats.quantity import Kind, Quantity, UnitName, unit_in
from meteragent.formats.times import TimeFormat, zone_of

Intervals = dict[str, int]
"""Of policies, by their names."""


class Input(Settings):
    """How readings are written: for Kafka's messages, JSON lines and tables alike.

    By default a reading is `{"meter_id": "m-17", "ts": 1763424000000, "value": 412.5}`. In
    JSON a name is a path, such as `ENERGY.Power` or `emeters.0.power`; `readings[].value` goes
    through the entries of a list, and `values[]` through values an `interval` apart. In a table
    it is a column, by name or number. A `format` sets what its recipe says, and the settings
    beside it take precedence.
    """

    format: Text | None = setting(
        "The recipe of a known format, from the table below; or `avro`, `protobuf` or "
        "`json-schema`, for messages whose schemas are in the registry of `[kafka.registry]`.",
        '"tasmota"',
        default=None,
    )
    meter: Text = setting("Where the meter's id stands.", '"device.id"', default="meter_id")
    only_meter: Text | None = setting(
        "The id of the one meter that all readings come from, if they do not say it.",
        '"home-1"',
        default=None,
    )
    account: Text | None = setting(
        "Where the home is named, whichever meter is installed: when a meter is exchanged, the "
        "account and its budget stay.",
        '"usage_point"',
        default=None,
    )
    time: Texts = setting(
        "Where the time stands; of two places, date and time.", '["Date", "Time"]', default=["ts"]
    )
    value: Text = setting("Where the value stands.", '"ENERGY.Power"', default="value")
    channels: Named = setting(
        "Several values of a record, in place of `value`: each belongs to a meter of its own, "
        "such as `home-1:a`. One that a record lacks is left out.",
        '{ a = "em.a_power", b = "em.b_power" }',
        default={},
    )
    kind: Kind = setting(
        "What values are: power; the energy of each interval, which becomes its average power; "
        "or what a register shows, which counts up from when it was installed. What it shows at "
        "the end of an interval, less what it showed at the beginning, is that interval's "
        "energy. For water and gas, power is the flow, and energy the volume.",
        '"energy"',
        default="power",
    )
    unit: UnitName = setting(
        "The unit of values, which fits what the policies are about: power (W, kW, MW; mWh, Wh, "
        "kWh, MWh), reactive power (var, kvar, Mvar; varh, kvarh, Mvarh) or flow (l/h, l/min, "
        "l/s, m3/h; l, m3).",
        '"kWh"',
        default="W",
    )
    unit_field: TextOrNone = setting(
        "Where readings may name their unit: those that name another one are rejected as "
        "`wrong_unit`. If empty, it is not checked.",
        '"uom"',
        default="unit",
    )
    stamp: Stamp = setting(
        "Whether a reading's time is where its interval begins, or where it ends. A register's is "
        "when it was read.",
        '"end"',
        default="start",
    )
    interval: SomeTime | None = setting(
        "How long the interval of a reading is; by default the policies' `interval`. For energy "
        "and registers it must be that.",
        '"30m"',
        default=None,
    )
    time_format: Text = setting(
        "How times are written: `iso`, `unix` (seconds), `unix_ms`, or a pattern such as "
        "`%d/%m/%Y %H:%M`. `auto` takes `iso`, or a number if it can only be seconds, only "
        "milliseconds, ….",
        '"%d/%m/%Y %H:%M"',
        default="auto",
    )
    timezone: Text | None = setting(
        "The time zone of times that do not say theirs, by its IANA name. Without it, tables are "
        "in UTC, and JSON times without a zone are rejected.",
        '"Europe/Paris"',
        default=None,
    )
    quality: Text | None = setting(
        "Where the quality of a reading stands; all are taken but these:", '"status"', default=None
    )
    absent: Texts = setting(
        "Qualities whose values count as absent, as if nothing had been measured.",
        '["missing"]',
        default=[],
    )
    rejected: Texts = setting(
        "Qualities for which the record is rejected, as `bad_quality`.", '["error"]', default=[]
    )
    decimal: Literal["point", "comma"] = setting(
        "How a table writes values: 1,234.5 or 1.234,5.", '"comma"', default="point"
    )
    delimiter: Text | None = setting(
        "What stands between the columns of a table, or `tab` or `space`; by default found in its "
        "first line.",
        '";"',
        default=None,
    )
    header: Flag = setting("Whether a table begins with its columns' names.", default=True)
    skip_lines: Whole = setting("How many lines come before the table.", "2", default=0)

    @model_validator(mode="before")
    @classmethod
    def _of_recipe(cls, settings: object) -> object:
        return completed(settings)

    @model_validator(mode="after")
    def _makes_sense(self) -> "Input":
        refuse([*self._units(), *self._times(), *self._qualities()])
        return self

    def mapping(self, intervals: Intervals) -> Mapping:
        """What the settings mean beside policies. InvalidSetting: they make no sense."""
        interval = self._interval(intervals)
        meaning = Meaning(
            Quantity(self.kind, self.unit, interval),
            interval,
            interval if self.stamp == "end" or self.kind == "register" else 0,
            frozenset(self.absent),
            frozenset(self.rejected),
        )
        return Mapping(
            self._columns(),
            self.channels,
            self.time_format,
            zone_of(self.timezone) if self.timezone else None,
            meaning,
            self.given,
            self.written,
        )

    @property
    def written(self) -> Written:
        """How messages are written."""
        return REGISTERED.get(self.format or "", "json")

    @property
    def given(self) -> frozenset[str]:
        """Which settings say where to find what, other than they do by default."""
        fields = type(self).model_fields
        standard = Input()
        ours = {"format"} if self.written != "json" else set()
        return frozenset(f for f in fields if getattr(self, f) != getattr(standard, f)) - ours

    def _columns(self) -> Columns:
        return Columns(
            meter=self.meter,
            time=self.time,
            value=self.value,
            constant_meter=self.only_meter,
            delimiter=self.delimiter,
            header=self.header,
            account=self.account,
            quality=self.quality,
            unit=self.unit_field or None,
            skip_lines=self.skip_lines,
            decimal_comma=self.decimal == "comma",
        )

    def _interval(self, intervals: Intervals) -> int:
        """Of one reading. InvalidSetting: it matters, and is not known, or is another one."""
        known = {*intervals.values()}
        if self.kind != "power" and self.interval is not None and known != {self.interval}:
            problem = "is not the interval of every policy, whose slots hold one reading each"
            raise InvalidSetting("interval", problem, "write the same for both")
        if self.interval is not None:
            return self.interval
        matters = {"kind", "stamp"} & self.given or self.value.endswith("[]")
        if matters and len(known) > 1:
            problem = "is missing, and policies have several"
            raise InvalidSetting("interval", problem, 'write for example "30m"')
        return min(known)

    def _units(self) -> list[InvalidSetting]:
        try:
            Quantity(self.kind, self.unit)
        except InvalidSetting as refused:
            return [refused]
        names = [("value", self.value), *(("channels", path) for _, path in self.channels)]
        return [
            InvalidSetting(name, f"says {said}, and unit is {self.unit}", "let one be the other's")
            for name, path in names
            if (said := unit_in(path.rpartition(".")[2])) not in {None, self.unit}
        ]

    def _times(self) -> list[InvalidSetting]:
        try:
            TimeFormat(self.time_format, zone_of(self.timezone) if self.timezone else None)
        except InvalidSetting as refused:
            return [refused]
        return []

    def _qualities(self) -> list[InvalidSetting]:
        if self.quality is None and (self.absent or self.rejected):
            return [InvalidSetting("quality", "is missing", "write where it stands")]
        return []
