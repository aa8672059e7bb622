"""A row of the comparison: one or several numbered items of a paper, and what became of them."""

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Verdict(StrEnum):
    """What became of it."""

    EQUAL = "equal"
    """The printed number comes out, to its last printed digit."""
    HOLDS = "holds"
    """What is claimed was tried in every case of a small world, and is true there."""
    DIFFERS = "differs"
    """What is printed does not come out; ours stands beside it, with what we know of why."""
    ELSEWHERE = "elsewhere"
    """The product rests on it, and its own tests check it."""
    OUTSIDE = "not for meters"
    """It speaks of things that no meter does."""
    UNKNOWN = "not at hand"
    """The wording or the numbers are not at hand; ours is what the known formula gives."""
    FAILED = "FAILED"
    """A claim that was true when this was written, and is not any more."""


@dataclass(frozen=True)
class Row:
    """What a paper says, what it prints, and what we find."""

    items: tuple[str, ...]
    """The numbered items that this accounts for, such as `Theorem 3`."""
    says: str
    printed: str
    ours: str
    verdict: Verdict
    lives: str
    """A module of `simulations/papers`, a test of the product, or why there is neither."""

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "items": list(self.items), "verdict": str(self.verdict)}


def number(items: str, says: str, printed: str, ours: float, lives: str, why: str = "") -> Row:
    """A printed number, equal if ours rounds to the very digits that are printed.

    `why` is what we know of a difference. A difference without it, or none where one is
    explained, means that something broke since it was written.
    """
    digits = printed.replace(",", "")
    places = len(digits.partition(".")[2])
    differs = f"{ours:.{places}f}" != digits
    if differs == bool(why):
        verdict = Verdict.DIFFERS if why else Verdict.EQUAL
    else:
        verdict = Verdict.FAILED
    shown = f"{ours:,.{places + 2 if places else 0}f}"
    return Row(_named(items), says, printed, f"{shown}: {why}" if why else shown, verdict, lives)


def claim(items: str, says: str, ours: str, lives: str, *, true: bool, printed: str = "") -> Row:
    """A statement, tried in every case of a small world; `printed` is its formula, if any."""
    return Row(_named(items), says, printed, ours, Verdict.HOLDS if true else Verdict.FAILED, lives)


def shown(items: str, says: str, printed: str, ours: str, lives: str, *, true: bool) -> Row:
    """What is printed, and is more than a number."""
    return Row(_named(items), says, printed, ours, Verdict.EQUAL if true else Verdict.FAILED, lives)


def elsewhere(items: str, says: str, test: str) -> Row:
    """What the product's own tests check."""
    return Row(_named(items), says, "", "", Verdict.ELSEWHERE, test)


def outside(items: str, says: str, why: str) -> Row:
    """What does not concern meters."""
    return Row(_named(items), says, "", "", Verdict.OUTSIDE, why)


def unknown(
    items: str, says: str, ours: str, lives: str = "", *, true: bool = True, printed: str = ""
) -> Row:
    """What is printed is not at hand; what ours claims must be true all the same."""
    verdict = Verdict.UNKNOWN if true else Verdict.FAILED
    return Row(_named(items), says, printed, ours, verdict, lives)


def _named(items: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in items.split(";"))
