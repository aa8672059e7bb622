"""How often the best attacker is right about an everyday load: once, or as a habit of every day.

Bounds over every home and every time of day, where no reading is missing. What a load moves in each
window goes through `advantage`: uses that no window shares are told by releases of their own, and
of those that windows do share, what they move there adds up (claim 12 of `mechanism.md`).
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache, partial
from itertools import chain

from meteragent.explain.advantage import Draw, bound, right
from meteragent.explain.leakage import Load
from meteragent.explain.loads import DAY, Everyday, traces
from meteragent.privacy.calendar import AnyWindows, CalendarWindows
from meteragent.privacy.exact import NANO
from meteragent.privacy.policy import Policy
from meteragent.privacy.query import About
from meteragent.privacy.terms import JOINT

DAYS = {"day": (1,), "week": (7,), "month": (28, 29, 30, 31)}
"""How many days a calendar's windows have: as many times something is done that is done daily."""
POSITIONS = 64
"""Of a load in its windows, that are told apart at most."""
Held = Sequence[int]
"""How many of the readings that a load moves each of some windows holds."""


def told(load: Everyday, policy: Policy, days: int = 1) -> float:
    """How often anybody is right at most who says whether a load ran, daily on so many days.

    Guessing is right in half of all cases. The parts of a load run at times of their own: each is
    told apart by itself, and what an attacker gains by each of them adds up.
    """
    loss = traces(load, policy, policy.fewest_slots, days=days).together
    step = max(asked.nano for asked in policy.questions) * float(policy.domain.resolution) / NANO
    most, gained = bound(loss, step), 0.0
    for often, part in load.parts:
        gained += often * _gained(part, policy, days, (most - 0.5 - gained) / often)
    return min(0.5 + gained, most)


def _gained(part: Load, policy: Policy, days: int, enough: float) -> float:
    """How much more often than by guessing, at any time of day; what is `enough` will do."""
    resolution, gained = float(policy.domain.resolution), 0.0
    for moves in _moves(part, policy, days) if enough > 0 else ():
        gained = max(gained, right(moves, resolution) - 0.5)
        if gained >= enough:
            break
    return gained


def _moves(part: Load, policy: Policy, days: int) -> Iterator[Counter[Draw]]:
    """What it can move in all windows, at every time of day: each once."""
    often, found = _held(part, policy, days)
    drawn, seen = cache(partial(_drawn, part=part, policy=policy)), set()
    for held in found:
        moves: Counter[Draw] = Counter()
        for covered, windows in Counter(held).items():
            moves.update({draw: windows * count for draw, count in drawn(covered).items()})
        key = frozenset(moves.items())
        if key not in seen:
            seen.add(key)
            yield Counter({draw: often * count for draw, count in moves.items()})


def _held(part: Load, policy: Policy, days: int) -> tuple[int, Iterator[Held]]:
    """How often the same is held, and by which windows, at every time of day."""
    windows, readings = policy.windows, policy.windows.readings(part.seconds * 1000)
    if days == 1 or _apart(windows, part.seconds):
        return days, _at_once(readings, part, policy)
    if counts := _whole_days(windows):
        return 1, chain.from_iterable(
            _in_a_row(days * readings, count * readings, part, policy) for count in counts
        )
    always = windows.readings(((days - 1) * DAY + part.seconds) * 1000)
    return 1, _at_once(always, part, policy)


def _apart(windows: AnyWindows, seconds: float) -> bool:
    """Whether no window holds readings of two uses, a day apart."""
    between = (DAY - seconds) * 1000 - 2 * windows.interval
    return not isinstance(windows, CalendarWindows) and between >= windows.size


def _whole_days(windows: AnyWindows) -> tuple[int, ...]:
    """How many days its windows may last, where these follow one another and are whole days."""
    if isinstance(windows, CalendarWindows):
        return DAYS[windows.unit]
    days, rest = divmod(windows.size, DAY * 1000)
    return () if rest or windows.overlap > 1 else (days,)


def _at_once(readings: int, part: Load, policy: Policy) -> Iterator[Held]:
    """How windows hold so many readings in a row."""
    windows = policy.windows
    if isinstance(windows, CalendarWindows) or windows.overlap > 1:
        return windows.shares(readings)
    return _in_a_row(readings, windows.slots, part, policy)


def _in_a_row(readings: int, most: int, part: Load, policy: Policy) -> Iterator[Held]:
    """How windows hold so many readings of all uses together, `most` of them in a whole window.

    A window that begins in the midst of a use ends in the midst of another, so that it holds as
    many. Positions are taken together where the first window's answers move as much, and where
    there are too many: then it has the most readings of all these, and the others have what the
    fewest leave.
    """
    moved = partial(_moved, part=part, policy=policy)
    first, most = 1, min(most, readings)
    while first <= most:
        after = bisect_right(range(most + 1), moved(first), lo=first, key=moved)
        after = max(after, first + most // POSITIONS)
        whole, last = divmod(readings - first, most)
        yield [min(after - 1, most), *[most] * whole, last]
        first = after


def _moved(covered: int, part: Load, policy: Policy) -> tuple[int, ...]:
    """How far a load moves the answers of a window that holds so many of its readings."""
    levels = policy.domain.levels_apart(part.watts)
    there, asking = min(covered, policy.slots), policy.asking
    moved = []
    for asked in policy.questions:
        about, within, held = asked.query.about, there, policy.fewest_slots
        if about.register and not about.part:
            held, most = asking.extremes_of[about]
            within = min(within, most, _in_hours(covered, part, policy, about))
        moved.append(asked.query.moved(within, held, levels))
    return tuple(moved)


def _in_hours(covered: int, part: Load, policy: Policy, about: About) -> int:
    """How many of the readings of some uses are within these hours at most.

    The first use and the last one may be cut off by the window's bounds.
    """
    readings = policy.windows.readings(part.seconds * 1000)
    uses = -(-covered // readings) + 1
    return uses * policy.asking.of_hours[about].most_of(readings)


def _drawn(covered: int, part: Load, policy: Policy) -> Counter[Draw]:
    """The same as draws of noise."""
    if not covered:
        return Counter()
    if policy.noise == JOINT:
        return Counter([Draw(policy.questions[0].nano, _moved(covered, part, policy))])
    drawn: Counter[Draw] = Counter()
    for asked, moved in zip(policy.questions, _moved(covered, part, policy), strict=True):
        each = min(covered, policy.slots) if asked.query.per_slot else 1
        drawn[Draw(asked.nano, (moved // each,))] += each
    return drawn
