"""What can go wrong with a gateway's journal."""

from meteragent.errors import MeterAgentError


class JournalDamaged(MeterAgentError):
    """Readings that were acknowledged cannot be read any more."""

    def __init__(self, segment: str, at: int) -> None:
        super().__init__(
            f"{segment}: is damaged at byte {at}, behind which readings were acknowledged; put it "
            "back, or go on without them: meteragent gateway --accept-loss"
        )
        self.segment = segment
        self.at = at


class JournalLost(MeterAgentError):
    """One of journal and ledger is missing, older than the other, or another's."""

    def __init__(self, journal: str, how: str) -> None:
        super().__init__(
            f"mqtt.journal: {journal} {how}; put back what was lost, or go on without it: "
            "meteragent gateway --accept-loss"
        )
        self.journal = journal
        self.how = how
