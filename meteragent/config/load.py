"""TOML and environment -> `Config`, or every problem at once."""

import tomllib
from collections.abc import Iterator, Mapping
from decimal import Decimal
from difflib import get_close_matches
from operator import attrgetter
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from meteragent.config.model import Config
from meteragent.config.problems import dotted, problems
from meteragent.config.secretfile import SecretFile
from meteragent.config.tree import PREFIX, is_secret, settings, variable
from meteragent.errors import ConfigRefused, InvalidSetting

Document = dict[str, Any]


def load(file: Path, environ: Mapping[str, str], written: Document | None = None) -> Config:
    """The configuration in `file`, with what the environment sets instead.

    Paths are relative to the file. The `[[policy]]` tables are not the environment's to
    change: what is promised to people stands in one place, where it can be reviewed. How the
    input is `written` may be said beside a file that says nothing of it.
    """
    document = _parsed(read(file), file)
    if written and "input" in document:
        problem, instead = "is set beside [input] of the file", "write it there"
        raise ConfigRefused([InvalidSetting(f"input.{n}", problem, instead) for n in written])
    return from_document(document | ({"input": written} if written else {}), file.parent, environ)


def from_text(text: str, file: Path, environ: Mapping[str, str]) -> Config:
    """The same, of what stood in the file when it was read."""
    return from_document(_parsed(text, file), file.parent, environ)


def from_document(document: Document, directory: Path, environ: Mapping[str, str]) -> Config:
    """The same, of a document that was not read from a file; it is used up."""
    found = [*_take_secrets(document), *_unknown(environ)]
    variables = dict(_overlay(document, environ))
    context = {"directory": directory, "credentials": environ.get("CREDENTIALS_DIRECTORY")}
    try:
        config = Config.model_validate(document, context=context)
    except ValidationError as error:
        found += [
            InvalidSetting(variables.get(p.field, p.field), p.problem, p.instead)
            for p in problems(error)
        ]
    if found:
        raise ConfigRefused(found)
    return config


def refuse_unreadable(config: Config) -> None:
    """Refuse certificates and secrets that cannot be read; the noise key has its own errors.

    Not part of `load`: explaining a configuration must not need the secrets of its agent.
    """
    found = []
    for path, _ in settings():
        file = attrgetter(".".join(path))(config)
        try:
            if isinstance(file, SecretFile) and path != ("agent", "key_file"):
                file.read(dotted(path))
            elif isinstance(file, Path) and path[-1].endswith("_file"):
                file.read_bytes()
        except InvalidSetting as refused:
            found.append(refused)
        except OSError as error:
            problem = f"{file} cannot be read ({error.strerror})"
            found.append(InvalidSetting(dotted(path), problem, "write a path that can"))
    if found:
        raise ConfigRefused(found)


def read(file: Path) -> str:
    """What stands in a file."""
    try:
        return file.read_text("utf-8")
    except OSError as error:
        problem, instead = f"cannot be read ({error.strerror})", "name a file that can"
    except UnicodeDecodeError:
        problem, instead = "is not UTF-8 text", "save it as UTF-8"
    raise ConfigRefused([InvalidSetting(str(file), problem, instead)])


def _parsed(text: str, file: Path) -> Document:
    try:
        return tomllib.loads(text, parse_float=Decimal)
    except ValueError as error:
        problem, instead = f"is not TOML: {error}", "compare it with deploy/agent.toml"
    raise ConfigRefused([InvalidSetting(str(file), problem, instead)])


def _take_secrets(document: Document) -> Iterator[InvalidSetting]:
    """Secrets that stand in the file, taken out of it."""
    for path, field in settings():
        table = _table(document, path)
        if is_secret(field) and path[-1] in table:
            del table[path[-1]]
            yield InvalidSetting(
                dotted(path),
                "does not belong in a file with other settings",
                f"write {path[-1]}_file, or set {variable(path)}",
            )


def _unknown(environ: Mapping[str, str]) -> Iterator[InvalidSetting]:
    known = {variable(path) for path, _ in settings()}
    for name in sorted(n for n in environ if n.startswith(PREFIX) and n not in known):
        near = get_close_matches(name, known, 1)
        policy = name.startswith(variable(("policy",)))
        yield InvalidSetting(
            name,
            "would change a policy" if policy else "sets nothing",
            "write it in the configuration file"
            if policy
            else f"did you mean {near[0]}?"
            if near
            else "unset it",
        )


def _overlay(document: Document, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Put the environment's settings in place; yields their paths and variables."""
    for path, _ in settings():
        if (name := variable(path)) in environ:
            _table(document, path)[path[-1]] = environ[name]
            yield dotted(path), name


def _table(document: Document, path: tuple[str, ...]) -> Document:
    """The table that `path` leads to, made where there is none.

    Where something else stands in its place, an unattached one: validation will say so.
    """
    for name in path[:-1]:
        inner = document.setdefault(name, {})
        document = inner if isinstance(inner, dict) else {}
    return document
