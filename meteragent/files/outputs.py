"""Where releases go: those of policies to one place, and each of their tiers to another."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from meteragent.files.sink import File, Sink
from meteragent.formats.forms import ReleaseEncoder
from meteragent.stream.releases import Document, Releases


class Place(NamedTuple):
    """Where copies of releases go, and who writes them."""

    sink: File
    encoder: ReleaseEncoder


class Outputs:
    """All places that releases go to; what a tier is told is nowhere else."""

    def __init__(self, sink: Sink, encoder: ReleaseEncoder, copies: Mapping[str, Place]) -> None:
        """`copies` are those of tiers, by their names."""
        self._places = {"": (sink, encoder), **copies}

    @property
    def sinks(self) -> list[Sink]:
        """The places."""
        return [sink for sink, _ in self._places.values()]

    def begin(self) -> None:
        """Write what stands before the first release, where none does."""
        for sink, encoder in self._places.values():
            if not sink.length:
                sink.write(encoder.header)

    def encode(self, releases: Releases) -> list[bytes]:
        """One document per window."""
        tier = releases.policy.tier
        _, encoder = self._places["" if tier is None else tier.name]
        return encoder.encode(releases)

    def write(self, documents: Iterable[Document]) -> None:
        """Add each to where it belongs, in this order."""
        lines: dict[str, list[bytes]] = {}
        for document in documents:
            _, _, tier = document.policy.partition("/")
            lines.setdefault(tier, []).append(document.text + b"\n")
        for tier, its in lines.items():
            sink, _ = self._places[tier]
            sink.write(b"".join(its))
