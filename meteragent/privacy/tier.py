"""What makes a policy that of a tier: of noisier copies of what another one releases."""

from dataclasses import dataclass
from typing import Any

from meteragent.privacy.exact import per_watt_text


@dataclass(frozen=True, slots=True)
class Tier:
    """A tier of a policy, by the name that people call it."""

    name: str
    above: tuple[tuple[int, ...], ...]
    """What each answer loses, in nano-units per watt, of every draw before it: the first release's,
    and those of the tiers between."""

    def defining(self) -> dict[str, Any]:
        """What enters the noise."""
        return {"tier": {"above": [[*map(per_watt_text, losses)] for losses in self.above]}}

    def document(self) -> dict[str, Any]:
        """What is published of it."""
        return {"tier": {"name": self.name, **self.defining()["tier"]}}
