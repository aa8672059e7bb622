"""`explain`: what a configuration protects, for people and for programs."""

import json
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, astuple
from textwrap import wrap

from meteragent.commands.exit_codes import Exit
from meteragent.commands.layout import Row, columns, table
from meteragent.commands.settings import settings
from meteragent.config import Config
from meteragent.config.allowance import allowance
from meteragent.config.choice import choice
from meteragent.config.policy import PolicySettings
from meteragent.errors import InvalidSetting
from meteragent.explain.document import (
    EXPLANATION_SCHEMA,
    Answer,
    Choice,
    Explanation,
    OfHome,
    Seen,
)
from meteragent.explain.dpia import IN_FILES, Streams, assessment
from meteragent.explain.explain import HABIT, WEEK, explain
from meteragent.explain.guarantee import Guarantee
from meteragent.explain.words import (
    IN_WORDS,
    factor,
    listed,
    share_text,
    significant,
    watts_text,
)
from meteragent.files import members
from meteragent.privacy.members import Membership
from meteragent.stream.meters import longest_prefix, normal

ERRORS = ("noise", "error", "at minimum", "90 %", "at minimum", "bits", "times", "plus")
MEASURES = (
    "{unit}: the noise's scale; the expected error, and the error that 90 % of answers stay "
    "within, in the middle of the range and at its minimum. Bits, times and plus bound what one "
    "answer adds to any adversary's knowledge of the level: times multiplies a chance of success, "
    "plus is added to it."
)
RIGHT = (
    "At most, where no reading is missing: for somebody who knows all else in the home, and says "
    "whether it ran, once or on every one of these days. Guessing is right in 50 %. Budgets come "
    "back, and habits add up."
)


def run(arguments: Namespace) -> Exit:
    """Explain every policy; needs neither key nor brokers."""
    config = settings(arguments)
    home = _home(config, arguments)
    tells = [*_told(config, home)]
    if arguments.dpia:
        streams = _streams(config) if arguments.config and config.outputs else IN_FILES
        sys.stdout.write(assessment(tells, streams))
    elif arguments.json:
        sys.stdout.write(_document(home, (one for _, one in tells)))
    else:
        told_of = [] if home is None else [_said_of_home(home, columns())]
        texts = [*told_of, *(text(one, columns()) for _, one in tells)]
        sys.stdout.write("\n\n".join(texts) + "\n")
    return Exit.OK


def _told(config: Config, home: OfHome | None) -> Iterator[tuple[Guarantee, Explanation]]:
    """All that is explained; where one home is asked about, what tells of it."""
    for (_, guarantee), one in zip(_promises(config), explanations(config), strict=True):
        if home is None or _is_of(one, home, config):
            yield guarantee, one


def _document(home: OfHome | None, explained: Iterable[Explanation]) -> str:
    told = {"schema": EXPLANATION_SCHEMA, "policies": [*map(asdict, explained)]}
    of_home = {} if home is None else {"home": asdict(home)}
    return json.dumps(told | of_home, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _home(config: Config, arguments: Namespace) -> OfHome | None:
    """What may be lost of the meter that is asked about, if one is."""
    who = _members(config, arguments)
    if arguments.meter is None:
        return None
    name = normal if config.agent.normalise_ids else str
    return allowance(config).of(name(arguments.meter), who)


def _members(config: Config, arguments: Namespace) -> Sequence[Membership] | None:
    """Which memberships take effect of those of `--groups`, if it is given."""
    if arguments.groups is None:
        return None
    if arguments.meter is None:
        raise InvalidSetting("--groups", "is given, and no --meter", "name a meter too")
    if not config.group:
        raise InvalidSetting("--groups", "is given, and no [[group]]", "write one")
    told = members.read(arguments.groups, normalise_ids=config.agent.normalise_ids)
    prefixes = [one.match for one in config.group]
    mine = (one for one in told if longest_prefix(prefixes, one.group) is not None)
    return config.reserve.plan(mine).members


def _is_of(one: Explanation, home: OfHome, config: Config) -> bool:
    """Whether a policy may tell of a home: its own, and those of all groups that it may be in."""
    if one.of == "meters":
        return one.name.partition("/")[0] in home.policies
    prefixes = [its.match for its in config.group]
    places = (longest_prefix(prefixes, group.group_id) for group in home.groups or ())
    return home.groups is None or one.match in {prefixes[at] for at in places if at is not None}


def _said_of_home(home: OfHome, width: int) -> str:
    name = home.meter_id if home.meter_id.isprintable() else ascii(home.meter_id)
    title = f"{name}: all that is released of it"
    blocks = [[title, "=" * min(len(title), width)], *(wrap(s, width) for s in home.sentences)]
    return "\n\n".join("\n".join(lines) for lines in blocks)


def _streams(config: Config) -> Streams:
    kafka = config.kafka
    outputs = listed(f"`{topic}`" for topic in dict.fromkeys(config.outputs.values()))
    return Streams(
        f"`{kafka.input}`", outputs, f"`{kafka.ledger}`", f"`{kafka.rejected}`", config.retention
    )


def explanations(config: Config) -> list[Explanation]:
    """One for each policy and each of its tiers, in the order of the configuration."""
    return [
        explain(guarantee, match=of.match, choice=choice(of) if guarantee is of.guarantee else None)
        for of, guarantee in _promises(config)
    ]


def _promises(config: Config) -> Iterator[tuple[PolicySettings, Guarantee]]:
    for one in (*config.policy, *config.group):
        for guarantee in (one.guarantee, *one.guarantee.tiers):
            yield one, guarantee


def text(explained: Explanation, width: int) -> str:
    """For people: paragraphs and tables, no wider than `width` if that can be."""
    what = explained.of
    meters = f'{what} "{explained.match}…"' if explained.match else f"all {what}"
    title = f"{explained.name}: {meters}, policy {explained.policy}"
    blocks = [
        [title, "=" * min(len(title), width)],
        *_chosen(explained.choice, width),
        *(wrap(sentence, width) for sentence in explained.guarantee.sentences),
        ["What one answer is worth", *table(_answers(explained.answers), width)],
        wrap(_measures(explained.unit), width),
        *(wrap(line, width) for line in (*_months(explained), *_together(explained))),
        ["What the budget covers", *wrap(explained.spending.sentence, width)],
        *(_loads_told(explained, width) if explained.loads else ()),
        *(wrap(f"Warning: {warning}", width) for warning in explained.warnings),
    ]
    return "\n\n".join("\n".join(lines) for lines in blocks)


def _measures(unit: str) -> str:
    several = IN_WORDS[unit][1]
    return MEASURES.replace("{unit}", several[0].upper() + several[1:])


def _loads_told(explained: Explanation, width: int) -> Iterator[list[str]]:
    """How well everyday loads can be told."""
    yield ["Odds by which loads can be recognised", *table(_loads(explained), width)]
    for line in _notes(explained.loads):
        yield wrap(line, width)
    yield ["How often the best attacker is right", *table(_rights(explained.loads), width)]
    yield wrap(RIGHT, width)


def _chosen(choice: Choice | None, width: int) -> Iterator[list[str]]:
    """Why these numbers."""
    if choice is None:
        return
    what = f"The preset {choice.preset} is meant to hide {choice.hides}. {choice.why}"
    yield ["Why these numbers", *wrap(what, width)]
    yield wrap(choice.evidence, width, break_on_hyphens=False)  # it names a command
    if choice.changed:
        changed = listed(choice.changed)
        yield wrap(f"Changed here, so this evidence no longer holds: {changed}.", width)


def _answers(answers: tuple[Answer, ...]) -> Iterator[Row]:
    yield ("query", *ERRORS)
    for one in answers:
        watts = (
            one.noise_scale,
            one.expected_error.middle,
            one.expected_error.minimum,
            one.error_90.middle,
            one.error_90.minimum,
        )
        name = one.query if one.outputs == 1 else f"{one.query} (each of {one.outputs})"
        numbers = (*watts, one.bits, one.times, one.plus)
        yield (name, *map(significant, numbers))


def _months(explained: Explanation) -> Iterator[str]:
    """What averages are still good for."""
    for one in explained.answers:
        if one.month is not None:
            yield (
                f"Over 30 days the mean of {one.query}, from unbiased, is off by at most "
                f"{watts_text(one.month, explained.unit)} in 95 of 100 cases."
            )


def _together(explained: Explanation) -> Iterator[str]:
    """What is not the sum of what single answers do."""
    if explained.together:
        bits, times, plus = map(significant, astuple(explained.together))
        loss = explained.answers[0].epsilon_per_watt
        yield (
            f"One draw is for all answers of a window: together they lose {loss} per "
            f"{IN_WORDS[explained.unit][0]}, and tell {bits} bits, times {times}, plus {plus} at "
            "most."
        )


def _loads(explained: Explanation) -> Iterator[Row]:
    names = [answer.query for answer in explained.answers]
    yield ("load", *names, "together", "no gaps")
    for seen in explained.loads:
        star = "*" if seen.capped else ""
        apart = (factor(seen.by_query[name].log_odds) for name in names)
        whole = factor(seen.without_gaps.log_odds)
        yield (seen.load, *apart, factor(seen.together.log_odds) + star, whole)


def _notes(loads: tuple[Seen, ...]) -> Iterator[str]:
    yield f"Loads: {'; '.join(f'{seen.load}, {seen.meaning}' for seen in loads)}."
    if any(seen.capped for seen in loads):
        yield "* as much as the budget lets all releases tell of it."
    yield "No gaps: where no reading is missing. All else holds whichever are missing."


def _rights(loads: tuple[Seen, ...]) -> Iterator[Row]:
    """Of a load once, and of the same as a habit."""
    yield ("load", "once", f"on {WEEK} days", f"on {HABIT} days")
    for seen in loads:
        right = seen.right
        yield (seen.load, *map(share_text, (right.once, right.week, right.month)))
