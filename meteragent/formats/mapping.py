"""The mapping of inputs: where meters, times and values stand, and what they mean.

One mapping is for Kafka's messages, for JSON lines and for tables. In JSON a name is a path:
`ENERGY.Power`, `emeters.0.power`, and `readings[].value` for every entry of a list; in a table it
is a column. Who sets nothing has the canonical form, and its own reader.
"""

import re
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Literal

from meteragent.errors import InvalidSetting
from meteragent.formats.csv_header import Columns
from meteragent.formats.framing import Framing, Ids
from meteragent.formats.quantity import Quantity

Stamp = Literal["start", "end"]
Written = Literal["json", "avro", "protobuf", "json-schema"]
"""How Kafka's messages are written; all but the first behind the id of a schema in a registry."""
REGISTERED: dict[str, Written] = {
    "avro": "avro",
    "protobuf": "protobuf",
    "json-schema": "json-schema",
}
"""What is written so, by what `input.format` calls it."""
Name = str | int
"""Of a step in a document: a key, or the place in a list."""

ITEMS = "[]"
"""The step to each entry of a list."""
NOTHING_READ = frozenset({"", "nan", "null", "none", "na", "n/a", "?"})
"""What stands where a value would, in small letters, if there is none."""
OF_TABLES = frozenset({"delimiter", "header", "decimal", "skip_lines"})
"""Settings that say nothing of JSON."""

_STEP = re.compile(r"((?:\\.|[^.\\\[\]])+)((?:\[\])*)(?:\.|$)")


def steps(path: str) -> tuple[str, ...]:
    r"""The steps of a path; a dot within a key is written as `\.`. ValueError: it is none."""
    found: list[str] = []
    at = 0
    while at < len(path):
        step = _STEP.match(path, at)
        if not step:
            raise ValueError("no path")
        found += [re.sub(r"\\(.)", r"\1", step[1]), *[ITEMS] * (len(step[2]) // len(ITEMS))]
        at = step.end()
    if not found or path.endswith("."):
        raise ValueError("no path")
    return (*found,)


@dataclass(frozen=True, slots=True)
class Meaning:
    """What is meant by what is found, wherever it stands."""

    quantity: Quantity = field(default_factory=Quantity)
    interval: int = 1
    """Milliseconds from one value of a list to the next."""
    earlier: int = 0
    """By how many milliseconds a reading began before its stamp."""
    absent: frozenset[str] = frozenset()
    """Marks of quality whose values are none ..."""
    rejected: frozenset[str] = frozenset()
    """... and of which the whole record is rejected."""


@dataclass(frozen=True, slots=True)
class Mapping:
    """Where a document or a table says what, and what it means."""

    columns: Columns = field(default_factory=Columns)
    channels: tuple[tuple[str, str], ...] = ()
    """Several values of a record, each of a meter of its own: how that is called, and where."""
    time_format: str = "auto"
    zone: tzinfo | None = None
    """Of times that do not say theirs; without one, tables are in UTC, and documents say theirs."""
    meaning: Meaning = field(default_factory=Meaning)
    given: frozenset[str] = frozenset()
    """Which settings say something that nobody would assume."""
    written: Written = "json"
    framing: Framing = "confluent"
    """Of messages whose schemas are in a registry."""
    ids: Ids = "content"

    @property
    def values(self) -> tuple[tuple[str, str], ...]:
        """What each value of a record is called, and where it stands."""
        return self.channels or (("", self.columns.value),)

    @property
    def is_canonical(self) -> bool:
        """Whether documents are in the form that is read fastest."""
        return not self.given - OF_TABLES

    @property
    def at_ends(self) -> bool:
        """Whether readings are stamped with the end of their interval."""
        return self.meaning.earlier > 0

    def refuse_registered(self) -> None:
        """Refuse what only Kafka's messages have. InvalidSetting: a file has not."""
        if self.written != "json":
            problem = f"is {self.written}, which is read from Kafka alone"
            raise InvalidSetting("input.format", problem, "leave it out")

    def refuse_documents(self) -> None:
        """Refuse what only tables have. InvalidSetting: documents are none."""
        if useless := sorted(self.given & OF_TABLES):
            problem = "is of tables, and has no effect on JSON"
            raise InvalidSetting(f"input.{useless[0]}", problem, "leave it out")
