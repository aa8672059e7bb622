"""Where a job reads and writes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from meteragent.files.ledger import SqliteLedger
from meteragent.files.outputs import Place
from meteragent.files.sink import File, Sink
from meteragent.files.source import Source
from meteragent.privacy.members import Membership


@dataclass(frozen=True, slots=True)
class Paths:
    """The input, and all that comes of it."""

    source: Source
    sink: Sink
    rejects: File | None
    ledger: SqliteLedger
    members: Sequence[Membership] = ()
    """Of groups, where these are released."""
    copies: Mapping[str, Place] = field(default_factory=dict)
    """Where those of tiers go, by their names."""
