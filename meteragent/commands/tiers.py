"""`--tier NAME=FILE`: where noisier copies of what `sanitize` releases go."""

from argparse import Namespace
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from meteragent.errors import ConfigRefused, InvalidSetting
from meteragent.files.outputs import Place
from meteragent.files.sink import File
from meteragent.formats.forms import ReleaseEncoder
from meteragent.privacy.policy import Policy
from meteragent.stream.meters import Assigned

TIER = "--tier"


def named(arguments: Namespace) -> dict[str, Path]:
    """Tier -> its file, as the arguments say. ConfigRefused: they say it twice, or not at all."""
    found: dict[str, Path] = {}
    for one in arguments.tier or ():
        name, equals, path = one.partition("=")
        if not (name and equals and path):
            raise _refused("is not NAME=FILE", f"write {TIER} research=research.jsonl")
        place = Path(path)
        others = [p.resolve() for p in (arguments.output, *found.values()) if p is not None]
        if name in found or place.resolve() in others:
            raise _refused("names a tier or a file twice", "give each tier a file of its own")
        found[name] = place
    return found


def copies(
    arguments: Namespace,
    released: Sequence[Assigned],
    opened: Callable[[Path], File],
    encoder: Callable[[Sequence[Policy]], ReleaseEncoder],
) -> dict[str, Place]:
    """Where those of each tier go, and who writes them.

    ConfigRefused: a tier has no file, for what is released once is never released again; or a file
    has no tier.
    """
    files, tiers = named(arguments), _by_name(released)
    for name in tiers:
        if name not in files:
            problem = f'is missing for the tier "{name}"'
            raise _refused(problem, f"write {TIER} {name}=FILE")
    for name in files:
        if name not in tiers:
            known = ", ".join(tiers)
            instead = f"known are: {known}" if known else "leave it out: there are none"
            raise _refused("names a tier that does not exist", instead)
    return {name: Place(opened(files[name]), encoder(its)) for name, its in tiers.items()}


def _by_name(released: Iterable[Assigned]) -> dict[str, list[Policy]]:
    found: dict[str, list[Policy]] = {}
    for one in released:
        for policy in one.tiers:
            assert policy.tier is not None  # noqa: S101 - or it is none
            found.setdefault(policy.tier.name, []).append(policy)
    return found


def _refused(problem: str, instead: str) -> ConfigRefused:
    return ConfigRefused([InvalidSetting(TIER, problem, instead)])
