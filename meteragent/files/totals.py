"""What became of an input's readings: the last thing that a job says."""

import json
from collections import Counter
from dataclasses import dataclass, field

from meteragent.stream.pipeline import Counts
from meteragent.stream.releases import Releases


@dataclass(slots=True)
class Totals:
    """Counts over all runs of a job; nothing is counted twice."""

    readings: int = 0
    late: int = 0
    duplicates: int = 0
    """Readings whose slot held one already."""
    unpaired: int = 0
    """Registers that no power follows from, as there is none in the slot before."""
    released: int = 0
    """Windows of which everything was released."""
    withheld: Counter[str] = field(default_factory=Counter)
    """Windows of which nothing, or not everything, was released, by reason."""
    rejects: Counter[str] = field(default_factory=Counter)
    first_lines: dict[str, int] = field(default_factory=dict)
    """The first line, from 1, that was rejected for each reason."""

    def count(self, counts: Counts) -> None:
        """Add what a pipeline has counted."""
        self.readings += counts.tally.accepted
        self.late += counts.tally.late
        self.duplicates += counts.tally.duplicate
        self.unpaired += counts.tally.unpaired
        for reject in counts.rejects:
            self.rejects[reject.reason.value] += 1
            self.first_lines.setdefault(reject.reason.value, reject.offset + 1)

    def decide(self, releases: Releases) -> None:
        """Add windows that were decided."""
        reasons = releases.reasons
        self.released += len(releases.meters) - reasons.total()
        self.withheld.update({str(reason): count for reason, count in reasons.items()})

    @property
    def seen(self) -> int:
        """Readings that were good, whatever became of them."""
        return self.readings + self.late + self.duplicates

    def found_nothing_since(self, before: "Totals") -> bool:
        """Whether lines were read since then, and not one of them was good."""
        return self.seen == before.seen and self.rejects.total() > before.rejects.total()

    def to_json(self) -> str:
        """As it is kept in the ledger."""
        return json.dumps({name: getattr(self, name) for name in self.__slots__}, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "Totals":
        """The inverse of `to_json`."""
        found = json.loads(text)
        for name in ("withheld", "rejects"):
            found[name] = Counter(found[name])
        return cls(**found)

    def words(self) -> str:
        """For people, on one line."""
        parts = [
            f"{self.readings} readings",
            f"{self.released} windows released",
            f"{self.withheld.total()} withheld{_by_reason(self.withheld)}",
            f"{self.late} late",
            f"{self.duplicates} sharing a slot",
            *([f"{self.unpaired} registers without one before"] if self.unpaired else []),
            f"{self.rejects.total()} lines rejected{_by_reason(self.rejects, self.first_lines)}",
        ]
        return ", ".join(parts)


def _by_reason(counts: Counter[str], first_lines: dict[str, int] | None = None) -> str:
    if not counts:
        return ""
    lines = first_lines or {}
    told = [
        f"{reason} {count}" + (f" from line {lines[reason]}" if reason in lines else "")
        for reason, count in sorted(counts.items())
    ]
    return f" ({', '.join(told)})"
