"""Where a table says what: columns, by name or number, and what stands between them."""

from dataclasses import dataclass

from meteragent.errors import InputDamaged, InvalidSetting

_DELIMITERS = ("\t", ";", ",")
_NAMED = {"tab": "\t", "space": " "}


@dataclass(frozen=True, slots=True)
class Columns:
    """Where a table says what; a column is its name, or its number from 1."""

    meter: str = "meter_id"
    """Of the meter's id, where there is no constant one."""
    time: tuple[str, ...] = ("ts",)
    """Of the time, or of date and time."""
    value: str = "value"
    constant_meter: str | None = None
    delimiter: str | None = None
    """By default the first of tab, `;` and `,` that the first line holds."""
    header: bool = True
    account: str | None = None
    """Of whose home it is, whatever meter hangs there."""
    quality: str | None = None
    unit: str | None = "unit"
    """Of what the values are in, if there is such a column."""
    skip_lines: int = 0
    """How many lines come before the table."""
    decimal_comma: bool = False
    """Whether values are written as `1.234,5` and not as `1,234.5`."""

    def delimiter_of(self, first_line: str) -> str:
        """What stands between two fields."""
        if self.delimiter is None:
            return next((d for d in _DELIMITERS if d in first_line), ",")
        delimiter = _NAMED.get(self.delimiter, self.delimiter)
        if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
            raise InvalidSetting("--delimiter", "is not a delimiter", 'write "," or "tab"')
        return delimiter


@dataclass(frozen=True, slots=True)
class Finder:
    """Where columns stand; `names` is empty if there is no header."""

    source: str
    names: list[str]

    def __call__(self, option: str, name: str) -> int:
        """The place of a column, from 0. InputDamaged: the first line does not have it."""
        if name in self.names:
            return self.names.index(name)
        if name.isascii() and name.isdigit() and int(name):
            return int(name) - 1
        if not self.names:
            raise InvalidSetting(
                option,
                "is not a number, but the table has no header",
                "write 1 for the first column",
            )
        other = "; or --meter, if there is one" if option == "--meter-column" else ""
        raise InputDamaged(
            self.source, 1, f"has no column {name!r}", f"write its name or number: {option}{other}"
        )
