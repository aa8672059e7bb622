"""The configuration's tables and settings, found by walking the models."""

from collections.abc import Iterator
from typing import get_args

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from meteragent.config.fields import Settings
from meteragent.config.model import Config

PREFIX = "METERAGENT__"

Path = tuple[str, ...]


def variable(path: Path) -> str:
    """The environment variable that sets what stands at `path`."""
    return PREFIX + "__".join(path).upper()


def table_in(annotation: object) -> type[Settings] | None:
    """The table that a field holds, alone or in a list."""
    if isinstance(annotation, type) and issubclass(annotation, Settings):
        return annotation
    return next(filter(None, map(table_in, get_args(annotation))), None)


def is_secret(field: FieldInfo) -> bool:
    """Whether only the environment may set it."""
    return SecretStr in get_args(field.annotation)


def settings(table: type[Settings] = Config, path: Path = ()) -> Iterator[tuple[Path, FieldInfo]]:
    """Every setting outside lists, by its path."""
    for name, field in table.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, Settings):
            yield from settings(inner, (*path, name))
        elif table_in(inner) is None:
            yield (*path, name), field


def tables(
    table: type[Settings] = Config, path: Path = ()
) -> Iterator[tuple[Path, type[Settings]]]:
    """Every table, also in lists, by its path; the outer ones first."""
    for name, field in table.model_fields.items():
        if inner := table_in(field.annotation):
            yield (*path, name), inner
            yield from tables(inner, (*path, name))


def field_at(location: tuple[str | int, ...]) -> tuple[type[Settings], FieldInfo | None]:
    """The field at a location, and the innermost table on the way to it."""
    table: type[Settings] = Config
    field: FieldInfo | None = None
    for name in location:
        if isinstance(name, str):
            table = (table_in(field.annotation) if field else None) or table
            field = table.model_fields.get(name)
    return table, field
