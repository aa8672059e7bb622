"""The kinds of values that settings have, each read strictly and never quoted in an error.

Errors leave here without a field: where a value stands is known to `problems` alone.
"""

import json
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationInfo

from meteragent.config.secretfile import SecretFile
from meteragent.errors import InvalidSetting
from meteragent.privacy.calendar import UNITS
from meteragent.privacy.exact import decimal
from meteragent.privacy.units import BASE, duration, watts, whole

CREDENTIAL = "credential:"
"""`credential:NAME` is the file NAME in the directory of the service manager's credentials."""

AUTO = "auto"
MOST_PROCESSES = 256
SEVERAL = (
    "How many processes this instance runs, all in one group and shown as one; `auto` is one for "
    "each processor that it may use. Each takes whole partitions of the input."
)

_OURS = {"size": "window", "costs": "queries"}
"""The core's names -> those of the settings."""
_TOPIC = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}", re.ASCII)
_SERVER = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[^\s:/,\[\]]+):[0-9]{1,5}", re.ASCII)
_NAME = re.compile(r"[^\W_][\w .-]{0,99}")
_TIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", re.ASCII)
_HOST = re.compile(r"[A-Za-z0-9.:_-]{1,253}", re.ASCII)
_TEXT = re.compile(r"[^\x00-\x1f\x7f]{1,255}")
_TEXT_OR_NONE = re.compile(r"[^\x00-\x1f\x7f]{0,255}")
_CREDENTIAL_NAME = re.compile(r"[\w.@-]{1,255}", re.ASCII)


class Settings(BaseModel):
    """A table of the configuration: frozen, complete, and closed to unknown settings."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, validate_default=True
    )


class BadSetting(ValueError):
    """Several settings of one table at once; their fields are relative to it."""

    def __init__(self, refusals: list[InvalidSetting]) -> None:
        super().__init__("\n".join(map(str, refusals)))
        self.refusals = refusals


def setting(description: str, example: str = "", *, default: object = ...) -> Any:  # noqa: ANN401 - as pydantic's own
    """A field, described for the reference, with an example as it stands in TOML.

    Where none is given, the default is one.
    """
    return Field(default, description=description, examples=[example or json.dumps(default)])


def found_by(*checks: Callable[[], object]) -> list[InvalidSetting]:
    """What all of these checks refuse, in the settings' names."""
    found: list[InvalidSetting] = []
    for check in checks:
        try:
            check()
        except BadSetting as refused:
            found += refused.refusals
        except InvalidSetting as error:
            field = _OURS.get(error.field, error.field)
            found.append(InvalidSetting(field, error.problem, error.instead))
    return found


def refuse(refusals: list[InvalidSetting]) -> None:
    """Raise all of them at once, if there is one."""
    if refusals:
        raise BadSetting(list({str(refusal): refusal for refusal in refusals}.values()))


def _kind(read: Callable[[str, Any], object]) -> BeforeValidator:
    return BeforeValidator(lambda value: read("", value))


def _matching(pattern: re.Pattern[str], problem: str, example: str) -> Callable[[str, Any], str]:
    def read(field: str, value: object) -> str:
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise InvalidSetting(field, problem, f'write for example "{example}"')
        return value

    return read


def _whole(least: int, most: int, example: int) -> Callable[[str, Any], int]:
    def read(field: str, value: object) -> int:
        number = whole(field, value, example=str(example))
        if not least <= number <= most:
            raise InvalidSetting(
                field, f"is not between {least} and {most}", f"write for example {example}"
            )
        return number

    return read


def processes(field: str, value: object) -> int | str:
    """How many processes: a number, or as many as there are processors."""
    return AUTO if value == AUTO else _whole(1, MOST_PROCESSES, 4)(field, value)


def _some_time(field: str, value: object) -> int:
    milliseconds = duration(field, value)
    if milliseconds == 0:
        raise InvalidSetting(field, "must be longer than zero", 'write for example "10s"')
    return milliseconds


def _some_window(field: str, value: object) -> int | str:
    return value if isinstance(value, str) and value in UNITS else _some_time(field, value)


def _flag(field: str, value: object) -> bool:
    said = {"true": True, "false": False}.get(value) if isinstance(value, str) else value
    if not isinstance(said, bool):
        raise InvalidSetting(field, "is neither true nor false", "write true or false")
    return said


def _texts(field: str, value: object) -> tuple[str, ...]:
    listed = value.split(",") if isinstance(value, str) else value
    if not isinstance(listed, list | tuple) or not all(
        isinstance(one, str) and _TEXT.fullmatch(one) for one in listed
    ):
        raise InvalidSetting(field, "is not a list of strings", 'write for example ["a", "b"]')
    return tuple(one.strip() for one in listed)


def _named(field: str, value: object) -> tuple[tuple[str, str], ...]:
    if isinstance(value, str):
        pairs = [one.partition("=") for one in value.split(",") if one]
        value = {name.strip(): path.strip() for name, _, path in pairs}
    if not isinstance(value, dict) or not all(
        isinstance(text, str) and _TEXT.fullmatch(text) for pair in value.items() for text in pair
    ):
        raise InvalidSetting(
            field, "is not a table of names and paths", 'write for example { a = "a.power" }'
        )
    return tuple(value.items())


_server = _matching(_SERVER, 'is not "host:port"', "kafka-1.example.net:9092")


def _servers(field: str, value: object) -> tuple[str, ...]:
    listed = value.split(",") if isinstance(value, str) else value
    if not isinstance(listed, list | tuple) or not listed:
        raise InvalidSetting(field, "is not a list of servers", 'write ["localhost:9092"]')
    return tuple(_server(field, s.strip() if isinstance(s, str) else s) for s in listed)


def _power(value: Any, info: ValidationInfo) -> Decimal:  # noqa: ANN401 - as it was written
    """In the base unit of what its table is about, which is power unless `quantity` says more."""
    return watts("", value, BASE[info.data.get("quantity", "power")])


def _secret_file(value: object, info: ValidationInfo) -> SecretFile:
    if isinstance(value, SecretFile):
        return value
    if not isinstance(value, str) or not value or "\0" in value:
        raise InvalidSetting("", "is not a path", f'write "secret.txt" or "{CREDENTIAL}secret"')
    context = info.context or {}
    if not value.startswith(CREDENTIAL):
        return SecretFile(context.get("directory", Path()) / value)
    name = value.removeprefix(CREDENTIAL)
    if not _CREDENTIAL_NAME.fullmatch(name) or name in {".", ".."}:
        raise InvalidSetting("", "names no credential", f'write "{CREDENTIAL}noise-key"')
    if not (directory := context.get("credentials")):
        raise InvalidSetting(
            "", "names a credential, but CREDENTIALS_DIRECTORY is not set", "write a path"
        )
    return SecretFile(Path(directory) / name, credential=True)


def _file(value: object, info: ValidationInfo) -> Path:
    return value if isinstance(value, Path) else _secret_file(value, info).path


Duration = Annotated[int, _kind(duration)]
"""Milliseconds."""
SomeTime = Annotated[int, _kind(_some_time)]
"""Milliseconds, more than none."""
SomeWindow = Annotated[int | str, _kind(_some_window)]
"""Milliseconds, or one of `UNITS`."""
Power = Annotated[Decimal, BeforeValidator(_power)]
"""Or what else a table is about: a `quantity` stands before it."""
Exact = Annotated[Decimal, _kind(decimal)]
TopicName = Annotated[str, _kind(_matching(_TOPIC, "is not a topic's name", "meter.readings"))]
Name = Annotated[str, _kind(_matching(_NAME, "is not a name", "household"))]
TierName = Annotated[str, _kind(_matching(_TIER, "is not a tier's name", "research"))]
"""Such that it may end a topic's name, and stand before the = of an option."""
Host = Annotated[str, _kind(_matching(_HOST, "is not a host or address", "127.0.0.1"))]
Text = Annotated[str, _kind(_matching(_TEXT, "is not a text of one line", "meteragent"))]
TextOrNone = Annotated[str, _kind(_matching(_TEXT_OR_NONE, "is not a text of one line", "unit"))]
Texts = Annotated[tuple[str, ...], _kind(_texts)]
Named = Annotated[tuple[tuple[str, str], ...], _kind(_named)]
"""Names -> paths."""
Flag = Annotated[bool, _kind(_flag)]
Servers = Annotated[tuple[str, ...], _kind(_servers)]
Port = Annotated[int, _kind(_whole(0, 65_535, 9108))]
Batch = Annotated[int, _kind(_whole(1, 1_000_000, 5_000))]
Many = Annotated[int, _kind(_whole(1, 100_000_000, 1_000_000))]
Processes = Annotated[int | str, _kind(processes)]
"""How many, or `AUTO`."""
Whole = Annotated[int, _kind(_whole(0, 1_000_000, 1))]
Megabytes = Annotated[int, _kind(_whole(1, 1_000_000, 64))]
FilePath = Annotated[Path, BeforeValidator(_file)]
OwnerOnlyFile = Annotated[SecretFile, BeforeValidator(_secret_file)]
FromEnvironment = SecretStr
"""A secret itself: accepted from the environment alone, where no file repeats it."""
