"""A data protection impact assessment, begun: what a configuration answers of it, as Markdown.

It follows the steps of the European Commission's template for smart grids and smart metering
systems (version 2, 2018). What follows from the configuration is filled in, with the numbers of
`explain`; what only the operator knows is marked as theirs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from meteragent.explain.document import Explanation
from meteragent.explain.guarantee import Guarantee
from meteragent.explain.words import listed, share_text, time_text, watts_text, window_text

YOURS = "**Yours to fill in:**"
HONEST = (
    "A release about one home is still personal data: noise makes it say less, within the bounds "
    "given below, and makes nobody anonymous. An epsilon is not anonymisation. Treat releases as "
    "personal data, with a legal basis, a purpose and an end."
)
NO_LAWYER = "This is not legal advice, and no lawyer has reviewed it."


@dataclass(frozen=True, slots=True)
class Streams:
    """Where data are, by the names that operators know."""

    readings: str
    releases: str
    ledger: str
    rejected: str
    kept: int
    """For how many milliseconds readings must be kept at least, for open windows."""


IN_FILES = Streams("the input file", "the output file", "a file of SQLite", "the rejects file", 0)


def assessment(policies: Sequence[tuple[Guarantee, Explanation]], streams: Streams) -> str:
    """The whole document."""
    sections = (
        ("Data protection impact assessment", _preface()),
        ("1. Is an assessment due?", _due()),
        ("2. Who carries it out", _team()),
        ("3. What is processed", (*_purposes(policies), *_data(policies), *_places(streams))),
        ("4. What could go wrong", _threats()),
        ("5. How likely, and how bad", _risks(policies)),
        ("6. What is done about it, and what remains", (*_controls(), *_residual(policies))),
        ("7. The articles of the GDPR", _articles()),
        ("8. Review", _review()),
    )
    first, *others = (f"{title}\n\n" + "\n\n".join(blocks) for title, blocks in sections)
    return "\n\n".join([f"# {first}", *(f"## {other}" for other in others)]) + "\n"


def _table(*rows: Sequence[str]) -> str:
    head, *body = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, "|" + "---|" * len(rows[0]), *body])


def _preface() -> Iterator[str]:
    yield (
        "Begun by `meteragent explain --dpia` from the configuration, along the European "
        "Commission's template for smart grids and smart metering systems (version 2, 2018). "
        f"{NO_LAWYER}"
    )
    yield f"**What has to be said first.** {HONEST}"


def _due() -> Iterator[str]:
    yield (
        "Readings of single homes, taken often, tell when people are at home, asleep or away, and "
        "what they do. That is systematic monitoring at scale; Article 35 of the GDPR asks for an "
        "assessment before it begins."
    )
    yield f"{YOURS} how many homes, since when, and under which law meters are read."


def _team() -> Iterator[str]:
    yield _table(
        ("role", "who"),
        ("controller", f"{YOURS} who decides why and how readings are processed"),
        ("processors", f"{YOURS} who runs the agent, the brokers and the machines for you"),
        ("data protection officer", f"{YOURS} name, and what they advised (Article 35(2))"),
        (
            "keeper of the noise key",
            (
                f"{YOURS} one person or service, apart from everybody who reads releases: who "
                "holds the key can take all noise away"
            ),
        ),
        ("those concerned", f"{YOURS} how their views were sought (Article 35(9))"),
    )


def _purposes(policies: Sequence[tuple[Guarantee, Explanation]]) -> Iterator[str]:
    yield "### Purposes"
    for guarantee, explained in policies:
        choice = explained.choice
        hidden = f"It is meant to hide {choice.hides} (preset `{choice.preset}`)." if choice else ""
        yield (
            f"`{guarantee.name}`: {YOURS} what {_asked(guarantee)} of each window of "
            f"{window_text(guarantee.policy.windows)} is needed for, and why less would not do. "
            f"{hidden}".strip()
        )


def _data(policies: Sequence[tuple[Guarantee, Explanation]]) -> Iterator[str]:
    yield "### Data"
    rows = [
        (
            f"`{guarantee.name}`",
            f"`{_cell(explained.match)}…`" if explained.match else f"all {explained.of}",
            f"one every {time_text(guarantee.policy.interval)}",
            f"{_asked(guarantee)} of {window_text(guarantee.policy.windows)}",
            "can be seen" if guarantee.policy.presence == "public" else "protected",
        )
        for guarantee, explained in policies
    ]
    head = ("policy", "of", "readings taken in", "what is released", "gaps in the readings")
    yield _table(head, *rows)
    yield (
        "Ids of meters go through as they are: what links them to people is elsewhere. "
        f"{YOURS} who can make that link."
    )


def _cell(text: str) -> str:
    """A text that stays in its cell."""
    return text.replace("|", "\\|").replace("\n", " ")


def _asked(guarantee: Guarantee) -> str:
    return listed(asked.query.name for asked in guarantee.policy.questions)


def _places(streams: Streams) -> Iterator[str]:
    yield "### Where they are, who receives them, and for how long"
    least = f"; at least {time_text(streams.kept)}, for open windows" if streams.kept else ""
    yield _table(
        ("what", "where", "who may read it", "kept for"),
        ("readings", streams.readings, f"the agent alone; {YOURS}", f"{YOURS}{least}"),
        ("releases", streams.releases, f"{YOURS} every recipient", f"{YOURS}"),
        (
            "accounts and open windows",
            streams.ledger,
            "the agent alone: as secret as the readings",
            "as long as releases are made: without it, budgets would start again",
        ),
        ("coordinates of bad records", streams.rejected, f"{YOURS}", f"{YOURS}"),
        ("logs and metrics", "your monitoring", f"{YOURS}", "no reading and no meter is in them"),
    )


def _threats() -> Iterator[str]:
    yield _table(
        ("feared event", "by whom", "what counters it"),
        (
            "releases tell what people did at home",
            "anybody who reads releases, whatever else they know",
            "noise with a proven bound, whatever their method: step 5",
        ),
        (
            "many releases together tell more than one",
            "the same, over weeks",
            "a budget for each home and horizon, kept in the same transaction as the releases",
        ),
        (
            "the noise is taken away",
            "who has the noise key",
            "the key is readable by its owner alone, and is in no log, error or release",
        ),
        (
            "a window is released twice, with fresh noise",
            "who restarts, repeats or kills the agent",
            "noise is a function of key and window: what is repeated is the same, bit by bit",
        ),
        (
            "readings are read on their way in, or the ledger is",
            "whoever has access to brokers or disks",
            f"encryption and access lists of your platform. {YOURS} which",
        ),
        (
            "a home is put under a stricter or looser policy than it should be",
            "who changes the configuration",
            "policies are read from a file alone, and their id is in every release",
        ),
    )


def _risks(policies: Sequence[tuple[Guarantee, Explanation]]) -> Iterator[str]:
    for guarantee, explained in policies:
        yield f"### `{guarantee.name}` (policy `{explained.policy}`)"
        yield " ".join(explained.guarantee.sentences)
        yield _measured(explained)
        rows = [
            (seen.load, seen.meaning, *map(share_text, (its.once, its.week, its.month)))
            for seen in explained.loads
            for its in (seen.right,)
        ]
        yield _table(("what ran", "that is", "once", "every day for a week", "for a month"), *rows)
    yield (
        "How often the best possible attacker is right who knows all else in the home and says "
        "whether it ran; an upper bound, rounded up. Guessing is right in 50 %."
    )
    yield f"{YOURS} how bad each of these would be for the people who live there, in your words."


def _measured(explained: Explanation) -> str:
    choice = explained.choice
    if choice is None:
        return "No attack was measured for these settings: they are not a preset's."
    if choice.changed:
        return (
            f"The attack that was measured for the preset `{choice.preset}` says nothing about "
            f"these settings. Changed: {listed(choice.changed)}."
        )
    return f"Measured attack: {choice.evidence}"


def _controls() -> Iterator[str]:
    yield (
        "In the design: noise before release, budgets, exactly-once accounts, withheld windows "
        "said to be withheld, nothing of a reading in logs, metrics, errors or rejects. Each claim "
        "has a proof (`mechanism.md`) and tests that can fail."
    )
    yield (
        f"{YOURS} who may read `readings` and `ledger`; where the noise key is kept, when it is "
        "rotated, and that it is destroyed with the last account; how recipients are bound."
    )


def _residual(policies: Sequence[tuple[Guarantee, Explanation]]) -> Iterator[str]:
    yield "### What remains"
    for guarantee, explained in policies:
        yield (
            f"`{guarantee.name}`: {_told(explained)}. One answer is off by {_errors(explained)}."
        )
        yield from (f"- {warning}" for warning in explained.warnings)
    yield f"{YOURS} whether that is acceptable, who decided so, and when."


def _told(explained: Explanation) -> str:
    if not explained.loads:
        return f"{YOURS} what can be told of what is measured; no everyday load of it is known here"
    worst, first = max(explained.loads, key=lambda seen: seen.right.month), explained.loads[0]
    return (
        f"of one {first.load}, the best attacker is right in at most "
        f"{share_text(first.right.once)} of cases; of a daily {worst.load}, after a month, in "
        f"at most {share_text(worst.right.month)}"
    )


def _errors(explained: Explanation) -> str:
    return listed(
        f"{watts_text(answer.expected_error.middle, explained.unit)} ({answer.query})"
        for answer in explained.answers
    )


def _articles() -> Iterator[str]:
    yield _table(
        ("article", "what the agent does", "what stays yours"),
        ("4(1), recital 26", "makes releases say less of a home", HONEST.partition(":")[0]),
        ("5(1)(b), 6", "-", "purpose and legal basis, of readings and of releases"),
        ("5(1)(c)", "releases no more than the queries that are set", "asking no more than needed"),
        (
            "5(1)(e), 17",
            "itself keeps open windows and accounts, and nothing else",
            "retention, erasure",
        ),
        ("5(1)(f), 32", "noise, secret key, no reading in logs", "access, encryption, backups"),
        ("13, 14", "`explain` says in plain words what is promised", "telling people"),
        ("25", "by design and by default: nothing leaves without a price", "which policy"),
        ("28", "-", "contracts with processors"),
        ("33, 34", "says what one release can tell at most", "notifying breaches"),
        ("35, 36", "this document", "finishing it; asking the authority if risks stay high"),
    )


def _review() -> Iterator[str]:
    yield (
        "Make this page again when a policy's id changes: it is in every release, and names "
        "everything that is promised."
    )
    yield f"{YOURS} date, version, signatures, and when it is reviewed next."
