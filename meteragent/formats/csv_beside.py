"""What stands in a table beside meter, time and value: whose home it is, quality, unit."""

from collections.abc import Callable

from meteragent.errors import InvalidSetting
from meteragent.formats.csv_header import Columns, Finder
from meteragent.formats.json_one import BadRecord
from meteragent.formats.mapping import Meaning
from meteragent.formats.quantity import UNITS, Quantity, unit_in, unit_of
from meteragent.stream.readings import Reason

Column = Callable[[int], list[bytes]]
USUAL_UNIT = Columns().unit


class Beside:
    """The columns that say whether, and how, a value is to be taken."""

    def __init__(self, find: Finder, columns: Columns, meaning: Meaning) -> None:
        """Find them. InputDamaged: the table does not have one of them."""
        self._meaning = meaning
        self.quality = self.unit = self.account = -1
        if columns.account is not None:
            self.account = find("--account-column", columns.account)
        if columns.quality is not None:
            self.quality = find("--quality-column", columns.quality)
        if columns.unit and (columns.unit != USUAL_UNIT or USUAL_UNIT in find.names):
            self.unit = find("--unit-column", columns.unit)
        self.last = max(self.quality, self.unit, self.account)
        self._marks = meaning.absent | meaning.rejected

    def is_plain(self, column: Column) -> bool:
        """Whether they all say that values are to be taken as they are."""
        if self.unit >= 0:
            units = {unit_of(text.decode("latin-1")) for text in {*column(self.unit)}}
            if units != {self._meaning.quantity.unit}:
                return False
        if self.quality < 0:
            return True
        said = {text.decode("utf-8", "replace").strip() for text in {*column(self.quality)}}
        return not said & self._marks

    def is_absent(self, fields: list[str]) -> bool:
        """Whether a row's value is none. BadRecord: the row is not to be taken at all."""
        if self.unit >= 0 and unit_of(fields[self.unit]) != self._meaning.quantity.unit:
            raise BadRecord(Reason.WRONG_UNIT)
        if self.quality < 0:
            return False
        if fields[self.quality] in self._meaning.rejected:
            raise BadRecord(Reason.BAD_QUALITY)
        return fields[self.quality] in self._meaning.absent


def refuse_another_unit(name: str, quantity: Quantity) -> None:
    """Refuse values whose own name says that they are in another unit than is set."""
    said = unit_in(name)
    if said is not None and said != quantity.unit:
        energy = ', with kind = "energy" where each is that of its interval' * (
            said in UNITS["energy"]
        )
        problem = f"is {quantity.unit}, but {name!r} says {said}"
        raise InvalidSetting("input.unit", problem, f'write unit = "{said}"{energy}')
