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
from meteragent.config.recipes import recipes
from meteragent.errors import ConfigRefused, InputDamaged, InvalidSetting
from meteragent.explain.words import so_many
from meteragent.files.fields import Fields, fields_of
from meteragent.files.guess import Guess, explicit_form, guess
from meteragent.files.source import Source
from meteragent.files.steps import Steps
from meteragent.formats.lines import decoder_of, refuse_documents
from meteragent.formats.quantity import MEASURED
from meteragent.privacy.units import BASE, Measured, format_duration
from meteragent.stream.readings import Readings

_ARGUMENTS = {setting: name for name, setting in MAPPING.items()}
_QUARTER, _HOUR, _DAY = 900_000, 3_600_000, 86_400_000
_LONG = 300_000
_EXAMPLES: dict[Measured, dict[str, str]] = {
    "flow": {"maximum": "10m3/h", "step": "1l/h", "radius": "100l/h"},
    "reactive": {"minimum": "-5kvar", "maximum": "5kvar", "step": "1var", "radius": "100var"},
}
"""Where no preset is: numbers to begin with. They are of meters, and never of what was read."""
_CALLED = {"flow": "water and gas", "reactive": "reactive power"}


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
    interval = _interval(read)
    written = _toml(found, interval) if on_kafka else [_command(arguments.input, found, interval)]
    sys.stdout.write("\n".join(["", *written]) + "\n")
    return Exit.OK


def _of_file(name: str) -> bytes:
    with closing(Source(name)) as source:
        for block in source.blocks():
            refuse_documents(name, block.text, "> lines.jsonl, and inspect that")
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
        found_in = f"{so_many(good, 'reading')} of {so_many(meters, 'meter')}"
        yield f"  {found_in}{apart}; {so_many(len(read.rejects), 'line')} rejected"
    else:
        yield f"  fields: {', '.join(fields.values)}"
    if _may_be_ends(found, _interval(read)):
        yield "  times may be where intervals begin, or where they end: see stamp"
    for name, example in found.missing.items():
        yield f"  {name} is not said: write it, for example {example}"
    if (measured := _measured(found)) != "power":
        yield f"  no preset is for {_CALLED[measured]}: the numbers of the policy are examples, and"
        yield "  meteragent explain says what they hide; maximum is the most that a meter can show"


def _may_be_ends(found: Guess, interval: int | None) -> bool:
    """Whether stamps may be the ends of intervals, and these so long that it matters."""
    kind = found.settings.get("kind", "power")
    is_long = kind == "energy" or (interval or 0) >= _LONG
    return "format" not in found.settings and kind != "register" and is_long


def _measured(found: Guess) -> Measured:
    """What the values are of."""
    recipe = recipes().get(found.settings.get("format", ""))
    unit = found.settings.get("unit") or (recipe.input.get("unit") if recipe else None)
    return MEASURED[unit or BASE["power"]]


def _released(found: Guess, interval: int | None) -> dict[str, str]:
    """Settings of a policy for it."""
    measured, step = _measured(found), interval or _QUARTER
    apart = {"interval": format_duration(interval)} if interval else {}
    if measured == "power":
        return {"preset": "tv-content", **apart}
    fitting = (one for one in (_HOUR, _DAY) if one % step == 0 and (one >= 4 * step or one == _DAY))
    long = next(fitting, 4 * step)
    spent = {"epsilon": "1", "budget": str(max(1, _DAY // long))}
    spent |= {"horizon": format_duration(long)} if long > _DAY else {}
    size = {"window": format_duration(long), **apart}
    return {"quantity": measured, **size, **_EXAMPLES[measured], **spent}


def _toml(found: Guess, interval: int | None) -> list[str]:
    missing = [f"{name} = {example}  # not said" for name, example in found.missing.items()]
    settings = [f"{name} = {_literal(value)}" for name, value in found.settings.items()]
    policy = [f"{name} = {_literal(its)}" for name, its in _released(found, interval).items()]
    return ["[input]", *settings, *missing, "", "[[policy]]", 'name = "homes"', *policy]


def _literal(value: Any) -> str:  # noqa: ANN401 - whatever a setting is
    return json.dumps(value, ensure_ascii=False)


def _command(name: str, found: Guess, interval: int | None) -> str:
    """The command that takes the input."""
    made_up = {name: json.loads(example) for name, example in found.missing.items()}
    words = ["meteragent", "sanitize", name, "-o", "released.jsonl"]
    for setting, its in _released(found, interval).items():
        words += [f"--{setting}={its}"] if its.startswith("-") else [f"--{setting}", its]
    for setting, value in (found.settings | made_up).items():
        option = f"--{_ARGUMENTS[setting].replace('_', '-')}"
        for one in value if isinstance(value, list) else [value]:
            words += [option] if one is False else [option, str(one)]
    return shlex.join([*words, "--key-file", "noise.key", "--ledger", "spend.db"])
