"""What noise leaves of an attack: success against epsilon, for chunks and evenings, real and made.

All releases come from the product's pipeline. `epsilon` is per watt and release.
"""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from meteragent.privacy.domain import Domain
from meteragent.privacy.entropy import NoiseKey
from meteragent.privacy.policy import Policy
from meteragent.privacy.question import question
from simulations.kit.command import Run
from simulations.kit.product import policy, typical_error
from simulations.tv.attacks import correlation, elastic
from simulations.tv.contest import EPOCH, Contents, Outcome, Seen, alone, in_homes, outcome
from simulations.tv.displays import OLED
from simulations.tv.library import Library, metered
from simulations.tv.plugs import recordings, stretches

HOME = Domain(0, 24_000, 1)
PLUG = Domain(0, 10_000, Decimal("0.1"))
REST = 300.0
"""Watts that the rest of a home draws where an attacker knows it: enough to keep off zero."""

HOUR = 3_600_000
CHUNK_BEGIN, EVENING_BEGIN = EPOCH + 20 * HOUR, EPOCH + 19 * HOUR
EVENINGS = 200

CHUNK_WINDOWS = (2, 10, 60)
CHUNK_EPSILONS = ("0.5", "0.1", "0.05", "0.02", "0.01")
EVENING_WINDOWS = (60, 900, 3600, 6 * 3600, 24 * 3600)
EVENING_EPSILONS = ("0.1", "0.05", "0.02", "0.01", "0.005", "0.002")
REAL_MINUTES = (5, 30, 60, 120)

Row = dict[str, Any]
Rows = list[Row]


def key(run: Run) -> NoiseKey:
    """A simulation's noise is drawn from its seed, so that its figures regenerate."""
    return NoiseKey(run.draw(1).bytes(32))


def averages(domain: Domain, window: int, epsilon: str, interval: int) -> Policy:
    """The average of windows of so many seconds; epsilon is per watt."""
    asked = [question("avg", epsilon, 1)]
    milliseconds = window * 1000
    return policy(domain, asked, window=milliseconds, interval=interval, horizon=milliseconds)


def chunks(run: Run, films: Library) -> Rows:
    """Five-minute chunks in a known home: matching shapes, and comparing likelihoods."""
    watts = metered(films.chunks(run.draw(50)), OLED, 2)
    contents = Contents(CHUNK_BEGIN, 2000, watts)
    cells = [(w, e) for w in CHUNK_WINDOWS for e in CHUNK_EPSILONS[:: 3 if run.quick else 1]]
    rows = []
    for window, epsilon in run.each(cells, "noise: chunks"):
        asked = averages(HOME, window, epsilon, 2000)
        seen = alone(contents, asked, key(run), 1 if run.quick else 4, REST)
        attacks = (
            ["correlation", "likelihood"]
            if window > 10
            else ["correlation", "elastic", "likelihood"]
        )
        for attack in attacks:
            found = outcome(_scores(attack, seen, len(watts)), contents, run.draw(51))
            rows.append(_row(contents, asked, epsilon, found) | {"attack": attack})
    return rows


def evenings(run: Run, films: Library) -> Rows:
    """Whole evenings: in a home that is known but for them, and in one of which little is known."""
    full = not run.quick
    count = EVENINGS if full else 40
    watts = metered(films.evenings(run.draw(60), count), OLED, 60)
    contents = Contents(EVENING_BEGIN, 60_000, watts)
    windows = EVENING_WINDOWS[1::2] if run.quick else EVENING_WINDOWS
    cells = [(w, e) for w in windows for e in EVENING_EPSILONS[:: 3 if run.quick else 1]]
    rows = []
    for window, epsilon in run.each(cells, "noise: evenings"):
        asked = averages(HOME, window, epsilon, 60_000)
        known = alone(contents, asked, key(run), 5 if full else 1, REST)
        covered = in_homes(
            contents, asked, key(run), 3 if full and window > 60 else 1, run.draw(61)
        )
        for home, seen in (("known", known), ("unknown", covered)):
            found = outcome(seen.scores(), contents, run.draw(62))
            row = _row(contents, asked, epsilon, found)
            rows.append(row | {"attack": "likelihood", "home": home})
    return rows


def real_correlation(run: Run) -> Rows:
    """Correlation with real chunks, the shape in hand: the first table of the yardstick."""
    if run.traces is None:
        return []
    watts = stretches(recordings(run.traces), 300, moving=5.0).watts
    contents = Contents(CHUNK_BEGIN, 2000, watts)
    rows = []
    cells = [(w, e) for w in CHUNK_WINDOWS for e in ("0.5", "0.1", "0.05", "0.01")]
    for window, epsilon in run.each(cells, "real: correlation"):
        asked = averages(PLUG, window, epsilon, 2000)
        seen = alone(contents, asked, key(run), 1, 0.0)
        found = outcome(correlation(seen.released, seen.answers), contents, run.draw(71))
        rows.append(_row(contents, asked, epsilon, found) | {"attack": "correlation"})
    return rows


def real_likelihood(run: Run) -> Rows:
    """Likelihoods of real contents of growing length: the second table of the yardstick."""
    if run.traces is None:
        return []
    recorded = recordings(run.traces)
    rows = []
    for minutes in run.each(REAL_MINUTES, "real: likelihood"):
        watts = stretches(recorded, 60 * minutes).watts
        contents = Contents(CHUNK_BEGIN, 2000, watts)
        repeats = 1 if minutes == 5 else -(-1000 // len(watts))
        for window in (60, 900) if minutes > 5 else (60,):
            for epsilon in EVENING_EPSILONS[:-1]:
                asked = averages(PLUG, window, epsilon, 2000)
                seen = alone(contents, asked, key(run), repeats, 0.0)
                found = outcome(seen.scores(), contents, run.draw(72))
                row = _row(contents, asked, epsilon, found)
                rows.append(row | {"attack": "likelihood", "minutes": minutes})
    return rows


def choose(rows: Iterable[Row], **wanted: object) -> Rows:
    """The rows that have these values."""
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def _scores(attack: str, seen: Seen, contents: int) -> Any:  # noqa: ANN401 - an array
    if attack == "likelihood":
        return seen.scores()
    if attack == "correlation":
        return correlation(seen.released, seen.answers)
    # One repeat after the other: the table of all pairs is what takes the memory.
    once = seen.released[:contents]
    return elastic(once, seen.answers)


def _row(contents: Contents, asked: Policy, epsilon: str, found: Outcome) -> Row:
    return {
        "window_seconds": asked.size // 1000,
        "epsilon_per_watt": epsilon,
        "error_watts": round(typical_error(asked), 2),
        "candidates": len(contents.watts),
        "chance": round(contents.chance, 6),
        "chance5": round(contents.chance_of(5), 6),
        "top1": found.first.document(),
        "top5": found.five.document(),
    }
