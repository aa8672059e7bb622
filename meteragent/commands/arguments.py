"""The arguments of `sanitize`; light, because `--help` needs no more."""

from argparse import ArgumentParser
from pathlib import Path

TIMEZONE = "whose days, weeks or months windows are"
POLICY = {
    "preset": ("", "what to hide: sets whatever is not set here"),
    "quantity": ("", "what is measured: by default power"),
    "window": ("15m", "length of a window; or day, week, month"),
    "interval": ("10s", "distance between two readings"),
    "hop": ("5m", "distance between the starts of two windows"),
    "offset": ("6h", "how much later windows begin"),
    "timezone": ("ZONE", TIMEZONE),
    "grace": ("30s", "how long a window waits for late readings"),
    "idle": ("5m", "how much longer it waits for a silent meter"),
    "delay": ("36h", "how late readings usually come; in place of idle"),
    "minimum": ("0W", "lowest reading"),
    "maximum": ("24kW", "highest reading"),
    "step": ("10W", "grid of readings between the two"),
    "resolution": ("0.1W", "grid of answers, where it is finer than the readings'"),
    "epsilon": ("1", "loss of one answer, at the radius"),
    "radius": ("100W", "the difference in every reading that epsilon and budget are for"),
    "budget": ("24", "the most that all answers of a horizon may lose"),
    "horizon": ("24h", "stretch of time that the budget is for"),
    "min_coverage": ("0.8", "share of slots that a window needs"),
    "presence": ("", "whether anybody may learn which readings are absent"),
    "fill": ("", "what a slot without a reading holds: the last one of its window"),
    "fill_limit": ("15m", "for how long"),
    "readings": ("", "what releases say about how many readings there are"),
    "on_exhausted": ("", "what happens to windows beyond the budget"),
    "noise": ("", "whether each answer has a draw of its own, or all share one"),
}
"""Settings of a policy, each with an example, unless its choices are told."""
CHOICES = {
    "preset": ("tv-content", "appliances", "presence", "bill"),
    "quantity": ("power", "reactive", "flow"),
    "presence": ("public", "private"),
    "fill": ("last",),
    "readings": ("classes", "exact", "none"),
    "on_exhausted": ("suppress", "partial"),
    "noise": ("independent", "joint"),
}
OF_GROUPS = ("feeder", "feeder-15m")
"""Presets of the sums of groups of homes."""
MAPPING = {
    "input_format": "format",
    "meter": "only_meter",
    "meter_column": "meter",
    "time_column": "time",
    "value_column": "value",
    "account_column": "account",
    "quality_column": "quality",
    "unit_column": "unit_field",
    "no_header": "header",
    **{
        name: name
        for name in (
            *("absent", "rejected", "time_format", "timezone", "kind", "unit", "stamp"),
            *("decimal", "delimiter", "skip_lines"),
        )
    },
}
"""Arguments that say how the input is written -> the settings of `[input]` that they are."""
PARQUET = "parquet"
"""The format whose table is made of lines, once all are there: `files.parquet`."""
OUTPUTS = {"json": "encoder.Encoder", "csv": "csv_encoder.CsvEncoder", PARQUET: "encoder.Encoder"}
"""What files are written in -> who writes it; imported when it is asked for."""
OF_FEEDERS = "lv-feeder"
"""The format of groups alone: `formats.feeder_table`."""
TABLE_OF_FEEDERS = "lv-feeder-parquet"
"""The same, as a table that is made of its lines."""
FORMATS = (*OUTPUTS, OF_FEEDERS, TABLE_OF_FEEDERS)


def add(command: ArgumentParser) -> None:
    """Everything that `sanitize` takes."""
    command.add_argument("input", metavar="IN", help="CSV or JSON lines, may be gzip; - is a pipe")
    command.add_argument("-o", "--output", type=Path, metavar="OUT", help="instead of a pipe")
    command.add_argument("--format", choices=FORMATS, default="json", help="of OUT")
    command.add_argument("--ledger", type=Path, metavar="FILE", help="accounts, as SQLite")
    command.add_argument(
        "--rejects", type=Path, metavar="FILE", help="where rejected lines stood, and why"
    )
    command.add_argument(
        "--groups",
        type=Path,
        metavar="FILE",
        help="release the [[group]] tables of -c: a CSV of meter_id, group_id (from, until)",
    )
    command.add_argument(
        "--tier",
        action="append",
        metavar="NAME=FILE",
        help="where the noisier copies of a [[policy.tier]] go; may be repeated",
    )
    order = command.add_mutually_exclusive_group()
    order.add_argument("--follow", action="store_true", help="wait for more, until stopped")
    order.add_argument(
        "--by-meter", action="store_true", help="IN holds one meter after the other, not by time"
    )
    command.add_argument(
        "--at-end",
        choices=("close", "keep"),
        default="close",
        help="release the windows that are over, or keep them open for a file that grows",
    )
    command.add_argument("--key-file", metavar="FILE", help="holds the noise key, if no -c does")
    command.add_argument(
        "--normalise-ids",
        action="store_true",
        default=None,
        help="ids that differ in case, width, normal form or spaces around them are one meter",
    )
    add_policy(command, f"{TIMEZONE}; and of times in IN that do not say theirs, by default UTC")
    _add_columns(command)


def add_policy(command: ArgumentParser, timezone: str = TIMEZONE) -> None:
    """What a command needs to know what is released; what a `timezone` is for."""
    group = command.add_argument_group("what is released: a file, or settings one by one")
    group.add_argument("-c", "--config", type=Path, metavar="FILE", help="the configuration")
    group.add_argument(
        "--query", action="append", metavar="NAME", help="avg, min, median, p95 …; may be repeated"
    )
    for name, (example, meaning) in POLICY.items():
        choices = CHOICES.get(name)
        text = timezone if name == "timezone" else meaning
        group.add_argument(_option(name), metavar=example or None, choices=choices, help=text)


def _add_columns(command: ArgumentParser) -> None:
    group = command.add_argument_group(
        "how IN is written: a column by name or number, or in JSON a path such as ENERGY.Power"
    )
    group.add_argument(
        "--input-format", metavar="NAME", help="a known one, such as tasmota: sets what follows"
    )
    group.add_argument("--meter", metavar="ID", help="of all readings, if there is one meter")
    group.add_argument("--meter-column", metavar="COLUMN", help="by default meter_id")
    group.add_argument(
        "--time-column", action="append", metavar="COLUMN", help="by default ts; date, then time"
    )
    group.add_argument("--value-column", metavar="COLUMN", help="by default value")
    group.add_argument("--account-column", metavar="COLUMN", help="whose home it is")
    group.add_argument("--quality-column", metavar="COLUMN", help="how good a value is")
    group.add_argument("--absent", metavar="LIST", help="qualities whose values count as absent")
    group.add_argument("--rejected", metavar="LIST", help="qualities that reject the line")
    group.add_argument(
        "--unit-column", metavar="COLUMN", help="must agree with --unit; by default unit"
    )
    group.add_argument(
        "--time-format",
        metavar="FORMAT",
        help='auto (default), iso, unix, unix_ms, or such as "%%d/%%m/%%Y %%H:%%M:%%S"',
    )
    group.add_argument("--kind", choices=("power", "energy", "register"), help="what values are")
    group.add_argument("--unit", choices=_UNITS, help="of values; by default W, var or l/h")
    group.add_argument("--stamp", choices=("start", "end"), help="what times are of")
    group.add_argument(
        "--decimal",
        choices=("point", "comma"),
        help="of values: 1,234.5 (by default) or 1.234,5",
    )
    group.add_argument("--delimiter", metavar="CHARACTER", help="by default found in line 1")
    group.add_argument("--no-header", action="store_true", default=None, help="line 1 has data")
    group.add_argument("--skip-lines", metavar="N", help="lines before the table")


_UNITS = (
    *("W", "kW", "MW", "mWh", "Wh", "kWh", "MWh"),
    *("var", "kvar", "Mvar", "varh", "kvarh", "Mvarh"),
    *("l/h", "l/min", "l/s", "m3/h", "l", "m3"),
)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
