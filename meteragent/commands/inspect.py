"""`inspect`: what an input probably says, and the command that takes it. For the trusted side."""

import asyncio
import json
import os
import shlex
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from meteragent.commands.arguments import MAPPING
from meteragent.commands.exit_codes import Exit
from meteragent.config import load
from meteragent.config.input import Input
from meteragent.errors import ConfigRefused, InputDamaged, InvalidSetting
from meteragent.files.fields import Fields, fields_of
from meteragent.files.guess import Guess, explicit_form, guess
from meteragent.files.source import Source
from meteragent.files.steps import Steps
from meteragent.formats.lines import decoder_of, refuse_documents
from meteragent.privacy.units import format_duration
from meteragent.stream.readings import Readings

_ARGUMENTS = {setting: name for name, setting in MAPPING.items()}
_QUARTER = 900_000


def run(arguments: Namespace) -> Exit:
    """Look at a file, or with `-c` at a topic; say what is there and what to write."""
    on_kafka = arguments.config is not None
    text = _of_topic(arguments) if on_kafka else _of_file(arguments.input)
    fields = fields_of(text)
    found = guess(fields)
    read = _tried(fields, found)
    if not found.settings and read is not None and not read.meters:  # canonical but for its types
        found = found._replace(settings={"time_format": explicit_form(fields)})
        read = _tried(fields, found)
    for line in _told(fields, found, read):
        sys.stdout.write(f"{line}\n")
    if read is None or not read.meters:
        return Exit.NOTHING
    written = _toml(found) if on_kafka else [_command(arguments.input, found, _interval(read))]
    sys.stdout.write("\n".join(["", *written]) + "\n")
    return Exit.OK


def _of_file(name: str) -> bytes:
    with closing(Source(name)) as source:
        for block in source.blocks():
            refuse_documents(name, block.text)
            return block.text
    raise InputDamaged(name, 1, "is empty", "name a file that holds readings")


def _of_topic(arguments: Namespace) -> bytes:
    from meteragent.kafka.clients import Clients  # noqa: PLC0415 - aiokafka is slow to load
    from meteragent.kafka.peek import peek  # noqa: PLC0415

    config = load(arguments.config, os.environ)
    values = asyncio.run(peek(Clients(config.kafka), arguments.input))
    if not values:
        problem, instead = "holds no record", "name a topic that does"
        raise ConfigRefused([InvalidSetting(arguments.input, problem, instead)])
    return b"".join(value.replace(b"\n", b" ") + b"\n" for value in values)


def _tried(fields: Fields, found: Guess) -> Readings | None:
    """What is read of these lines, with what is missing made up; None: nothing can be."""
    made_up = {name: json.loads(example) for name, example in found.missing.items()}
    if {"time", "value"} & found.missing.keys():
        return None
    text = b"".join(line + b"\n" for line in fields.sample)
    try:
        settings = Input.model_validate(found.settings | made_up)
        mapping = settings.mapping({"": settings.interval or _QUARTER})
        reader = decoder_of("", text, mapping)
        skipped = reader.header_lines
        return reader.decode(b"".join(text.splitlines(keepends=True)[skipped:]), skipped)
    except (InvalidSetting, InputDamaged, ValueError):
        return None


def _interval(read: Readings | None) -> int | None:
    steps = Steps()
    if read is not None:
        steps.look(read)
    return steps.median


def _told(fields: Fields, found: Guess, read: Readings | None) -> Iterator[str]:
    yield fields.what
    for remark in found.remarks:
        yield f"  {remark}"
    if read is not None:
        meters, good = len({*read.meters}), len(read.meters)
        step = _interval(read)
        apart = f", {format_duration(step)} apart (median)" if step else ""
        yield f"  {good} readings of {meters} meters{apart}; {len(read.rejects)} lines rejected"
    else:
        yield f"  fields: {', '.join(fields.values)}"
    for name, example in found.missing.items():
        yield f"  {name} is not said: write it, for example {example}"


def _toml(found: Guess) -> list[str]:
    missing = [f"{name} = {example}  # not said" for name, example in found.missing.items()]
    settings = [f"{name} = {_literal(value)}" for name, value in found.settings.items()]
    return ["[input]", *settings, *missing]


def _literal(value: Any) -> str:  # noqa: ANN401 - whatever a setting is
    return json.dumps(value, ensure_ascii=False)


def _command(name: str, found: Guess, interval: int | None) -> str:
    """The command that takes the input."""
    made_up = {name: json.loads(example) for name, example in found.missing.items()}
    words = ["meteragent", "sanitize", name, "-o", "released.jsonl", "--preset", "tv-content"]
    words += ["--interval", format_duration(interval)] if interval else []
    for setting, value in (found.settings | made_up).items():
        option = f"--{_ARGUMENTS[setting].replace('_', '-')}"
        for one in value if isinstance(value, list) else [value]:
            words += [option] if one is False else [option, str(one)]
    return shlex.join([*words, "--key-file", "noise.key", "--ledger", "spend.db"])
