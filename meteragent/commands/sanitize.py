"""`sanitize`: a file instead of Kafka."""

import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType

from meteragent.commands import tiers
from meteragent.commands.arguments import OF_FEEDERS, OUTPUTS, PARQUET, TABLE_OF_FEEDERS
from meteragent.commands.exit_codes import Exit
from meteragent.commands.settings import mapping_of, option_of, settings, written_as
from meteragent.config import Config
from meteragent.errors import (
    ConfigRefused,
    FileRefused,
    InputDamaged,
    InputReplaced,
    InvalidSetting,
    KeyRefused,
)
from meteragent.explain import advice
from meteragent.explain.words import window_text
from meteragent.files import members
from meteragent.files.group_job import GroupJob
from meteragent.files.job import Job
from meteragent.files.ledger import IN_MEMORY, SqliteLedger
from meteragent.files.paths import Paths
from meteragent.files.progress import Progress
from meteragent.files.sink import File, Stream
from meteragent.files.source import Source
from meteragent.files.totals import Totals
from meteragent.formats.feeder_table import FeederEncoder
from meteragent.formats.forms import ReleaseEncoder
from meteragent.privacy.entropy import NoiseKey
from meteragent.privacy.policy import Policy
from meteragent.privacy.units import format_duration
from meteragent.stream.meters import Assigned, by_prefix
from meteragent.stream.readings import Reason
from meteragent.stream.releases import Withheld


def run(arguments: Namespace) -> Exit:
    """Sanitize one input; say at the end what became of it."""
    config = settings(arguments)
    of_groups = _is_of_groups(arguments, config)
    output = _output(arguments)
    key = _key(arguments, config)
    with ExitStack() as stack:
        released = config.groups if of_groups else config.assigned
        places = _places(arguments, stack, released, output)
        if arguments.groups:
            listed = members.read(arguments.groups, normalise_ids=config.agent.normalise_ids)
            places = replace(places, members=listed)
        progress = Progress(sys.stderr, places.source.size)
        stack.callback(progress.clear)
        job = (GroupJob if of_groups else Job)(
            places,
            config,
            key,
            mapping_of(arguments, config),
            _encoder(arguments, released, [one.policy for one in released]),
            keep=arguments.at_end == "keep",
            by_meter=arguments.by_meter,
            say=_say,
            progress=progress,
        )
        _do(job, arguments, progress)
    if output != arguments.output:
        _make_table(arguments, job.policies)
    hints = _hints(job.totals, by_meter=arguments.by_meter)
    sharing = _sharing(job.totals, job.steps.median, job.policies)
    warnings = (
        *advice.of_lateness(job.totals.late, job.totals.readings),
        *advice.of_unevenness(job.held),
        *advice.of_ids(job.lookalikes),
    )
    empty = _empty(job.totals, job.steps.median, job.policies)
    for line in (job.totals.words(), *hints, *empty, *sharing, *warnings):
        _say(line)
    return Exit.NOTHING if job.totals.found_nothing_since(job.known) else Exit.OK


def _do(job: Job, arguments: Namespace, progress: Progress) -> None:
    """Run it; where it is broken off, say what has become of the input so far."""
    try:
        job.run()
    except (InputDamaged, InputReplaced):
        progress.clear()
        if job.totals != Totals():
            _say(job.totals.words())
        raise
    except InvalidSetting as refused:
        named = refused.field.startswith("input.") and written_as(arguments)
        field = option_of(refused.field) if named else refused.field
        raise InvalidSetting(field, refused.problem, refused.instead) from None


def _is_of_groups(arguments: Namespace, config: Config) -> bool:
    """Whether groups are to be released, and not meters; say so where both might be meant."""
    if arguments.groups and not config.group:
        instead = "write one, and name its file with -c"
        raise ConfigRefused([InvalidSetting("--groups", "is given, and no [[group]]", instead)])
    if config.group and not arguments.groups:
        if not config.policy:
            instead = "name the file that says which homes are in which groups"
            raise ConfigRefused([InvalidSetting("--groups", "is missing", instead)])
        _say("[[group]] is left out: it is released where --groups names the homes of groups")
    if config.policy and arguments.groups:
        _say("[[policy]] is left out: it is released where there is no --groups")
    return bool(arguments.groups)


def _output(arguments: Namespace) -> Path | None:
    """The file that is added to: of a table, the lines beside it."""
    path: Path | None = arguments.output
    if arguments.format not in {PARQUET, TABLE_OF_FEEDERS}:
        return path
    lines, kind = ("json", "jsonl") if arguments.format == PARQUET else (OF_FEEDERS, "csv")
    problem, instead = "is a table, which is written when all of IN is read", f"write {lines}"
    if path is None:
        raise InvalidSetting("--format", "is a table, which no pipe takes", "name it with -o")
    if arguments.follow:
        raise InvalidSetting("--format", problem, instead)
    beside: Path = _parquet().lines_beside(path, kind)
    return beside


def _make_table(arguments: Namespace, policies: Sequence[Policy]) -> None:
    """Of the lines beside it."""
    if arguments.format == TABLE_OF_FEEDERS:
        _parquet().write_feeders(arguments.output)
    else:
        _parquet().write(arguments.output, policies)


def _parquet() -> ModuleType:
    """What knows tables, where it is installed."""
    try:
        return import_module("meteragent.files.parquet")
    except ImportError:
        instead = "pip install 'meteragent[parquet]'"
        raise InvalidSetting("--format", "needs pyarrow, which is not installed", instead) from None


def _encoder(
    arguments: Namespace, released: Sequence[Assigned], policies: Sequence[Policy]
) -> ReleaseEncoder:
    """What writes releases of these policies, or of tiers of theirs, as the arguments say."""
    if arguments.format not in {OF_FEEDERS, TABLE_OF_FEEDERS}:
        return encoder_of(arguments.format, policies)
    if not arguments.groups:
        raise InvalidSetting("--format", "is for groups, and there is no --groups", "write csv")
    if any(len(its) > 1 for its in by_prefix(released)):
        problem = "has one policy's rows, and some groups have several [[group]]"
        raise InvalidSetting("--format", problem, "leave one, or write csv")
    return FeederEncoder(policies, members.feeders(arguments.groups))


def encoder_of(output: str, policies: Sequence[Policy]) -> ReleaseEncoder:
    """What writes releases so."""
    module, _, name = OUTPUTS[output].partition(".")
    kind = getattr(import_module(f"meteragent.formats.{module}"), name)
    encoder: ReleaseEncoder = kind(policies)
    return encoder


def _key(arguments: Namespace, config: Config) -> NoiseKey:
    """The noise key; where there is no file of settings, an argument names it.

    Beside it, say what is forgotten without a ledger.
    """
    if arguments.config is None and config.agent.key_file is None and config.agent.key is None:
        raise KeyRefused("--key-file", "is not given", "make one: meteragent key create noise.key")
    key = config.agent.noise_key()
    if arguments.ledger is None:
        _say("no --ledger: what is spent is forgotten at the end, so do this only once")
    return key


def _hints(totals: Totals, *, by_meter: bool) -> Iterator[str]:
    """What probably went wrong, where next to nothing came out of it."""
    if totals.late and not by_meter:
        yield "late readings came after their windows had closed; if IN holds one meter after the"
        yield "other, add --by-meter, with a new ledger and output: that is a second budget for the"
        yield "same homes, unless what was released of them is destroyed"
    if not totals.readings and totals.rejects:
        [(reason, _)] = totals.rejects.most_common(1)
        yield f"not one line was good; {_REMEDIES.get(reason, 'look at the first that is named')}"
    if totals.unpaired * 2 > totals.readings:
        yield "most registers have none in the slot before; is --interval the time between two?"


def _empty(totals: Totals, step: int | None, policies: Sequence[Policy]) -> Iterator[str]:
    """Where no window held enough readings: whether they are too rare, or IN is too short."""
    if totals.released or totals.withheld.keys() != {str(Withheld.COVERAGE)}:
        return
    if step is None or all(step > policy.interval for policy in policies):
        yield "no window held enough readings; is --interval the time between two of them?"
        return
    one = min(policies, key=lambda policy: policy.slots * policy.interval)
    yield (
        f"no window held enough readings: one is {window_text(one.windows)} long, and IN holds "
        "too little of each; name a longer IN, or a shorter --window"
    )


def _sharing(totals: Totals, step: int | None, policies: Sequence[Policy]) -> Iterator[str]:
    """What to think of readings that share a slot with an earlier one, if they are many."""
    interval = min(policy.interval for policy in policies)
    if totals.duplicates * MANY_SHARE <= totals.seen:
        return
    first = f"{totals.duplicates} readings share a slot with an earlier one, and count for nothing"
    if step is None or step >= interval:
        yield f"{first}; does IN hold some twice?"
        return
    apart, slots = format_duration(step), format_duration(interval)
    yield f"{first}: readings are {apart} apart (median), and slots {slots}: --interval {apart}"


MANY_SHARE = 100
"""One of so many readings is worth a word."""
_REMEDIES: dict[str, str] = {
    Reason.BAD_TIME: "compare --time-column, --time-format and --timezone with it",
    Reason.IN_SECONDS: "times are in seconds: --time-format unix",
    Reason.BAD_VALUE: "compare --value-column with it, and for a table --delimiter",
    Reason.WRONG_SHAPE: "compare --…-column with it, and for a table --delimiter and --no-header",
    Reason.WRONG_UNIT: (
        "say what values are: --unit, --kind; or --unit-column, if that is not a unit"
    ),
    Reason.NO_GROUP: "compare the meter ids of --groups with it",
}


def _places(
    arguments: Namespace, stack: ExitStack, released: Sequence[Assigned], output: Path | None
) -> Paths:
    whole = arguments.at_end == "close"
    source = stack.enter_context(
        closing(Source(arguments.input, follow=arguments.follow, whole=whole))
    )
    for written in _written(arguments, output):
        if source.is_over(written):
            raise FileRefused(str(written), "is the input itself", "name another file")
    path = IN_MEMORY if arguments.ledger is None else str(arguments.ledger)
    ledger = stack.enter_context(closing(SqliteLedger(path)))

    def opened(path: Path) -> File:
        return stack.enter_context(closing(File(path, ledger.length(str(path.resolve())))))

    sink = opened(output) if output else Stream(sys.stdout.buffer)
    rejects = opened(arguments.rejects) if arguments.rejects else None
    copies = tiers.copies(arguments, released, opened, partial(_encoder, arguments, released))
    return Paths(source, sink, rejects, ledger, copies=copies)


def _written(arguments: Namespace, output: Path | None) -> Iterator[Path]:
    """All files that are written."""
    places = (arguments.output, output, arguments.rejects, arguments.ledger)
    yield from tiers.named(arguments).values()
    yield from (path for path in places if path is not None)


def _say(line: str) -> None:
    sys.stderr.write(f"meteragent: {line}\n")
