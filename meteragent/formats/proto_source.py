"""Protobuf schemas as people write them (`.proto`) -> descriptors, to read messages by.

Messages, their fields, enumerations, maps, groups and imports are read. Options, services and
extensions say nothing of how a field is found by its name, and are passed over. Types keep the
names that the source calls them by: the runtime finds them, and refuses what makes no sense.
"""

import re
from collections.abc import Callable

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)

DEEPEST = 32
"""Messages within messages."""

_TOKEN = re.compile(
    r"(?P<nothing>[ \t\r\n\f\v]+|//[^\n]*|/\*.*?\*/)"
    r"|(?P<name>\.?[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)"
    r"|(?P<number>[0-9][0-9A-Za-z_.]*)"
    r"|(?P<text>\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')"
    r"|(?P<sign>[{}()\[\]<>=;,:.+/-])",
    re.DOTALL,
)
_NUMBER = re.compile(r"0[xX][0-9A-Fa-f]+|0[0-7]*|[1-9][0-9]*")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_OPEN, _CLOSE = "{[(", "}])"
_LABELS = {
    "optional": FieldDescriptorProto.LABEL_OPTIONAL,
    "required": FieldDescriptorProto.LABEL_REQUIRED,
    "repeated": FieldDescriptorProto.LABEL_REPEATED,
}
_TYPES = {
    name.removeprefix("TYPE_").lower(): number
    for name, number in FieldDescriptorProto.Type.items()
    if name not in {"TYPE_GROUP", "TYPE_MESSAGE", "TYPE_ENUM"}
}
_NO_KEYS = {"double", "float", "bytes"}


Deeds = dict[str, Callable[[], object]]
"""What is done by the word that a statement begins with."""


class BadSource(Exception):
    """It is no source that is read. Says nothing of what it holds."""


def described(source: str) -> FileDescriptorProto:
    """What a source describes. BadSource: it is none of proto2 or proto3."""
    return _SourceReader(source).file()


def _tokens(source: str) -> list[str]:
    found, at = [], 0
    while at < len(source):
        token = _TOKEN.match(source, at)
        if token is None:
            raise BadSource
        at = token.end()
        if token.lastgroup != "nothing":
            found.append(token.group())
    return found


class _SourceReader:
    """Reads statement by statement; a token that is not the one expected ends it."""

    def __init__(self, source: str) -> None:
        self._tokens = [*_tokens(source), ""]
        self._at = 0
        self._is_new = False
        """Whether it is proto3."""

    def file(self) -> FileDescriptorProto:
        """All of it."""
        made = FileDescriptorProto(syntax="proto2")
        if self._taken("syntax"):
            self._expect("=")
            made.syntax = self._text()
            self._expect(";")
        self._is_new = made.syntax == "proto3"
        if made.syntax not in ("proto2", "proto3"):
            raise BadSource
        deeds: Deeds = {
            "import": lambda: self._import(made),
            "package": lambda: self._package(made),
            "message": lambda: self._message(made.message_type.add(), self._word(), 1),
            "enum": lambda: self._enum(made.enum_type.add()),
            "option": lambda: self._pass_to(";"),
            "service": self._pass_body,
            "extend": self._pass_body,
            ";": lambda: None,
        }
        while self._tokens[self._at]:
            deed = deeds.get(self._next())
            if deed is None:
                raise BadSource
            deed()
        return made

    def _import(self, made: FileDescriptorProto) -> None:
        if self._taken("public"):
            made.public_dependency.append(len(made.dependency))
        else:
            self._taken("weak")
        made.dependency.append(self._text())
        self._expect(";")

    def _package(self, made: FileDescriptorProto) -> None:
        made.package = self._name()
        self._expect(";")

    def _message(self, made: DescriptorProto, name: str, depth: int) -> None:
        """From its opening brace to its closing one."""
        if depth > DEEPEST:
            raise BadSource
        made.name = name
        deeds: Deeds = {
            "message": lambda: self._message(made.nested_type.add(), self._word(), depth + 1),
            "enum": lambda: self._enum(made.enum_type.add()),
            "oneof": lambda: self._oneof(made, depth),
            "map": lambda: self._map(made),
            "extend": self._pass_body,
            "option": lambda: self._pass_to(";"),
            "reserved": lambda: self._pass_to(";"),
            "extensions": lambda: self._pass_to(";"),
            ";": lambda: None,
        }
        self._expect("{")
        while not self._taken("}"):
            deed = deeds.get(self._tokens[self._at])
            if deed is None:
                self._field(made, made.field.add(), depth)
                continue
            self._at += 1
            deed()
        _choose_alone(made)

    def _field(self, owner: DescriptorProto, made: FieldDescriptorProto, depth: int) -> None:
        label = self._tokens[self._at]
        if label in _LABELS:
            self._at += 1
            if self._is_new and label == "optional":
                made.proto3_optional = True
        elif not self._is_new:
            raise BadSource
        made.label = _LABELS.get(label, FieldDescriptorProto.LABEL_OPTIONAL)
        self._typed(owner, made, depth)

    def _typed(self, owner: DescriptorProto, made: FieldDescriptorProto, depth: int) -> None:
        """From its type to its end."""
        kind = self._name()
        made.name = self._word()
        self._expect("=")
        made.number = self._number()
        if self._taken("["):
            self._pass_to("]")
        if kind == "group" and not self._is_new:
            made.type, made.type_name = FieldDescriptorProto.TYPE_GROUP, made.name
            self._message(owner.nested_type.add(), made.name, depth + 1)
            made.name = made.name.lower()
            return
        self._set_type(made, kind)
        self._expect(";")

    def _set_type(self, made: FieldDescriptorProto, kind: str) -> None:
        """Of what is no scalar, the runtime finds out whether it is a message."""
        if kind in _TYPES:
            made.type = _TYPES[kind]
        else:
            made.type_name = kind

    def _oneof(self, made: DescriptorProto, depth: int) -> None:
        place = len(made.oneof_decl)
        made.oneof_decl.add(name=self._word())
        self._expect("{")
        while not self._taken("}"):
            if self._taken("option"):
                self._pass_to(";")
            else:
                field = made.field.add(label=FieldDescriptorProto.LABEL_OPTIONAL, oneof_index=place)
                self._typed(made, field, depth)

    def _map(self, made: DescriptorProto) -> None:
        self._expect("<")
        key = self._word()
        if key not in _TYPES or key in _NO_KEYS:
            raise BadSource
        self._expect(",")
        value = self._name()
        self._expect(">")
        field = made.field.add(label=FieldDescriptorProto.LABEL_REPEATED, name=self._word())
        self._expect("=")
        field.number = self._number()
        if self._taken("["):
            self._pass_to("]")
        self._expect(";")
        words = "".join(word[:1].upper() + word[1:] for word in field.name.split("_"))
        entry = made.nested_type.add(name=f"{words}Entry")
        entry.options.map_entry = True
        field.type, field.type_name = FieldDescriptorProto.TYPE_MESSAGE, entry.name
        for number, (name, kind) in enumerate((("key", key), ("value", value)), 1):
            inner = entry.field.add(
                name=name, number=number, label=FieldDescriptorProto.LABEL_OPTIONAL
            )
            self._set_type(inner, kind)

    def _enum(self, made: EnumDescriptorProto) -> None:
        made.name = self._word()
        self._expect("{")
        while not self._taken("}"):
            if (
                self._tokens[self._at] in ("option", "reserved")
                and self._tokens[self._at + 1] != "="
            ):
                self._pass_to(";")
            elif not self._taken(";"):
                value = made.value.add(name=self._word())
                self._expect("=")
                value.number = -self._number() if self._taken("-") else self._number()
                if self._taken("["):
                    self._pass_to("]")
                self._expect(";")

    def _next(self) -> str:
        token = self._tokens[self._at]
        if not token:
            raise BadSource
        self._at += 1
        return token

    def _taken(self, token: str) -> bool:
        """Whether this one was next; then it is behind us."""
        found = self._tokens[self._at] == token
        self._at += found
        return found

    def _expect(self, token: str) -> None:
        if self._next() != token:
            raise BadSource

    def _name(self) -> str:
        """A name, with dots or without."""
        token = self._next()
        if not _WORD.match(token.removeprefix(".")):
            raise BadSource
        return token

    def _word(self) -> str:
        token = self._next()
        if not _WORD.fullmatch(token):
            raise BadSource
        return token

    def _text(self) -> str:
        token = self._next()
        if token[0] not in "\"'" or "\\" in token:
            raise BadSource
        return token[1:-1]

    def _number(self) -> int:
        token = self._next()
        if not _NUMBER.fullmatch(token):
            raise BadSource
        is_octal = token.startswith("0") and token.isdigit()
        return int(token, 8 if is_octal else 0)

    def _pass_body(self) -> None:
        """Pass over what stands before braces, and over all between them."""
        while self._tokens[self._at] != "{":
            self._next()
        self._next()
        self._pass_to("}")

    def _pass_to(self, end: str) -> None:
        """Pass over all that comes before this, and over it; within brackets it is another's."""
        depth = 0
        while (token := self._next()) != end or depth:
            depth += (token in _OPEN) - (token in _CLOSE)
            if depth < 0:
                raise BadSource


def _choose_alone(made: DescriptorProto) -> None:
    """Each `optional` field of proto3 is a choice of its own, behind those that are written."""
    taken = {one.name for one in (*made.field, *made.oneof_decl)}
    for field in made.field:
        if field.proto3_optional:
            name = field.name if field.name.startswith("_") else f"_{field.name}"
            while name in taken:
                name = f"X{name}"
            taken.add(name)
            field.oneof_index = len(made.oneof_decl)
            made.oneof_decl.add(name=name)
