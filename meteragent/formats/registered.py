"""Messages whose schemas are in a registry -> columns.

Schemas are handed in by whoever can ask for them: this decoder says which of them it lacks, before
it has read anything. A schema never changes under its id. Every schema has a decoder of its own for
the bodies of its messages, which is made when it is learned.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from meteragent.formats.decoder import refusing
from meteragent.formats.forms import MessageDecoder, Numbers, Payloads
from meteragent.formats.framing import Framing, Prefix
from meteragent.formats.json_one import BadRecord
from meteragent.formats.mapped_one import Documents
from meteragent.formats.mapping import Written
from meteragent.formats.merging import merged
from meteragent.stream.readings import Readings, Reason

KINDS: dict[Written, str] = {"avro": "AVRO", "protobuf": "PROTOBUF", "json-schema": "JSON"}
"""What registries call the schemas of what is written so."""


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema as a registry tells it, with those that it refers to."""

    kind: str
    text: str
    references: Mapping[str, "Schema"] = field(default_factory=dict)
    """By the names that it calls them by."""


class SchemaRefused(Exception):
    """A schema that messages are not read by. Says nothing of what it holds."""


class SchemasLacking(Exception):
    """Messages cannot be read before these schemas are known; nothing was read."""

    def __init__(self, numbers: frozenset[int]) -> None:
        super().__init__("not all schemas are known yet")
        self.numbers = numbers
        """All that they need, known or not."""


Shape = tuple[Any, ...]
"""Of a schema's values: the name of their kind, and what is said of that."""


class AvroShapes(NamedTuple):
    """How messages in Avro are read by the wheel."""

    documents: Documents | None
    """What they mean; nothing where they are canonical."""
    of: Callable[[Schema], Shape | None]
    """What the wheel is told of a schema; nothing where it does not read its messages."""


class RegisteredDecoder:
    """Decodes batches of messages by the schemas that it has learned; many partitions share it."""

    def __init__(
        self,
        reader: Callable[[Schema], MessageDecoder],
        framing: Framing = "confluent",
        shapes: AvroShapes | None = None,
    ) -> None:
        """`reader` makes a schema's decoder. SchemaRefused: its messages are not read."""
        self._reader = reader
        self._prefix = Prefix(framing)
        self._known: dict[int, MessageDecoder | Reason] = {}
        self.shapes = shapes
        """How the wheel is told of schemas, if it can read their messages."""
        self.told: dict[int, Shape] = {}
        """What it is told of those that are known."""

    def learn(self, number: int, schema: Schema | None) -> None:
        """Know a schema from now on; if there is none, that its messages are to be rejected."""
        self.told.pop(number, None)
        if schema is None:
            self._known[number] = Reason.UNKNOWN_SCHEMA
            return
        try:
            self._known[number] = self._reader(schema)
        except SchemaRefused:
            self._known[number] = Reason.BAD_SCHEMA
            return
        if self.shapes and (shape := self.shapes.of(schema)):
            self.told[number] = shape

    def knows(self, number: int) -> bool:
        """Whether its messages can be decoded, or are to be rejected."""
        return number in self._known

    def reads(self, number: int) -> bool:
        """Whether its messages can be decoded."""
        return not isinstance(self._known.get(number), Reason | None)

    def forget(self, number: int) -> None:
        """Lack it again, when it is next needed."""
        self._known.pop(number, None)
        self.told.pop(number, None)

    def decode(self, values: Payloads, offsets: Numbers, timestamps: Numbers) -> Readings:
        """The columns of a batch, as `MessageDecoder` asks for them.

        SchemasLacking: some schemas must be learned first.
        """
        heads = {None if value is None else value[: self._prefix.size] for value in values}
        if len(heads) == 1 and (head := heads.pop()):  # as it mostly is
            number = self._numbered(head)
            known = self._known.get(number) if isinstance(number, int) else number
            if known is not None:
                return self._decoded(known, values, offsets, timestamps)
        return self._mixed(values, offsets, timestamps)

    def _numbered(self, value: bytes | None) -> int | Reason:
        """The id of a message's schema, or why it has none."""
        if not value:
            return Reason.EMPTY
        try:
            return self._prefix.number_of(value)
        except BadRecord as why:
            return why.reason

    def _needed(self, values: Payloads) -> list[MessageDecoder | Reason]:
        """What decodes each, or why nothing does. SchemasLacking: that is not known of some."""
        numbers = [*map(self._numbered, values)]
        needed = frozenset(number for number in numbers if isinstance(number, int))
        if not needed <= self._known.keys():
            raise SchemasLacking(needed)
        return [self._known[n] if isinstance(n, int) else n for n in numbers]

    def _mixed(self, values: Payloads, offsets: Numbers, timestamps: Numbers) -> Readings:
        groups: dict[MessageDecoder | Reason, list[int]] = {}
        for index, known in enumerate(self._needed(values)):
            groups.setdefault(known, []).append(index)
        parts = []
        for known, some in groups.items():
            its = [[column[at] for at in some] for column in (offsets, timestamps)]
            parts.append(self._decoded(known, [values[at] for at in some], *its))
        whole, *others = parts
        for part in others:
            whole = merged(whole, part, offsets[-1] + 1)
        return whole

    def _decoded(
        self,
        known: MessageDecoder | Reason,
        values: Payloads,
        offsets: Numbers,
        timestamps: Numbers,
    ) -> Readings:
        if isinstance(known, Reason):
            return refusing(offsets, known)
        size = self._prefix.size
        bodies = [value[size:] for value in values if value is not None]
        return known.decode(bodies, offsets, timestamps)
