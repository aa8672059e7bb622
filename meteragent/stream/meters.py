"""Which meter an id names, and which policy is that meter's."""

from collections.abc import Iterable, Sequence
from unicodedata import normalize


def longest_prefix(prefixes: Sequence[str], meter: str) -> int | None:
    """The place of the longest prefix that a meter's id begins with, if it begins with any."""
    fitting = [place for place, prefix in enumerate(prefixes) if meter.startswith(prefix)]
    return max(fitting, key=lambda place: len(prefixes[place]), default=None)


def normal(meter: str) -> str:
    """What an id is without its case, its width, its normal form and spaces around it.

    Unicode's NFKC, then case folding, then NFKC again, then no white space at either end; an id
    that is nothing else stays what it is. Postcondition: what is normal stays as it is.
    """
    return normalize("NFKC", normalize("NFKC", meter).casefold()).strip() or meter


def lookalikes(meters: Iterable[str]) -> int:
    """How many of these ids are told from another of them by their spelling alone."""
    spellings = set(meters)
    return len(spellings) - len(set(map(normal, spellings)))
