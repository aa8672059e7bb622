"""Numbers of prose: where they stand, and where each of them comes from.

`measured.toml` says of each page which sentences quote a result (with holes for the numbers, which
are filled from it), and which numbers are no measurements: settings, definitions, examples. What is
neither is loose; of pages on speed, each section names commands, and what is loose there must be
what these printed when they were last kept. Code, links, versions, numbered steps, and codes and
claims by number are not read.
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from functools import cache, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulations.keep import KEPT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "simulations" / "results"
TABLE = Path(__file__).with_name("measured.toml")
_COMMAND = re.compile(r"`(python -m simulations\.[^`]*)`")
_PRINTED = re.compile(r"\d[\d,]*(?:\.\d+)?")
LESS = "less"
"""Before a format: of a share, what lacks to one."""
UNITS = (
    *("%", "ms", "s", "min", "h", "W", "kW", "kWh", "KiB", "MiB", "GiB", "KB", "MB", "GB"),
    *("bytes", "bits", "million", "times", "nanoseconds", "microseconds", "days", "minutes"),
    *("seconds", "meters", "homes", "readings", "partitions", "instances", "cores", "cases"),
)
NUMBER = r"(?<![\w.,/:^-])\d(?:[\d,]*\d)?(?:\.\d+)?(?![\w^])"
TOKEN = re.compile(rf"{NUMBER}(?: (?:{'|'.join(map(re.escape, UNITS))})(?!\w))?")
_NAMED = "claims?|codes?|steps?|Python|Java|MQTT|QoS|Linux|Kafka|Apicurio|mosquitto|version|draft"
NOT_READ = re.compile(
    r"```.*?```|`[^`]*`|https?://\S+|<!--.*?-->"
    r"|(?<=\])\([^)]*\)"  # where a link leads
    r"|^\s*(?:\*\*)?\d+\. |^#+ \d+\. "  # numbered steps
    r"|\d+(?:\.\d+){2,}|\d{4}-\d\d(?:-\d\d)?|\d\d?:\d\d"  # versions, days, times of a day
    r"|\d[⁰¹²³⁴-⁹⁻]+"  # powers, in proofs
    rf"|(?:{_NAMED}) \d[\d.]*(?:(?:, | and | or |, and )\d[\d.]*)*",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Page:
    """What a page states."""

    name: str
    measured: Sequence[Sequence[str]] = ()
    anywhere: Sequence[str] = ()
    given: Sequence[str] = ()
    read: str = ""
    """Only numbers of these units, such as `% times`; all, where nothing is said."""
    not_kept: Sequence[str] | None = None
    """Of a page on speed: commands that are yet to be run and kept."""

    @property
    def source(self) -> str:
        """As it is written."""
        return (ROOT / self.name).read_text("utf-8")

    @property
    def text(self) -> str:
        """Nothing of it is left out, but lines are joined."""
        return _joined(self.source)

    def quotes(self) -> Iterator[str]:
        """Its sentences with a result, as they must read today."""
        for sentence, *sources in self.measured:
            yield sentence.format(*map(said, sources))

    def loose(self) -> dict[str, str]:
        """Numbers that come from nowhere -> where they stand."""
        if self.not_kept is None:
            return self._loose(self.source)
        found: dict[str, str] = {}
        for section in re.split(r"^(?=## )", self.source, flags=re.MULTILINE):
            commands = _COMMAND.findall(section)
            if commands and not {*commands} & {*self.not_kept}:
                numbers = [number for command in commands for number in printed(command)]
                left = self._loose(section).items()
                found |= {one: where for one, where in left if not _rounded(one, numbers)}
            elif not commands:
                found |= self._loose(section)
        return found

    def commands(self) -> set[str]:
        """All that its sections name."""
        return {*_COMMAND.findall(self.source)}

    def _loose(self, source: str) -> dict[str, str]:
        text = _joined(NOT_READ.sub("", source))
        for quote in self.quotes():
            text = text.replace(_joined(NOT_READ.sub("", quote)), " … ")
        found = {told for name in self.anywhere for told in leaves(document(name))}
        return {
            one[0]: text[max(0, one.start() - 40) : one.end() + 40]
            for one in TOKEN.finditer(text)
            if one[0] not in self.given and one[0].split()[0] not in found
            if not self.read or one[0].split()[-1] in self.read.split()
        }

    def unused(self) -> set[str]:
        """What is given, and does not stand on the page."""
        text = _joined(NOT_READ.sub("", self.source))
        return {*self.given} - {found[0] for found in TOKEN.finditer(text)}


def pages() -> dict[str, Page]:
    """All that the table tells of."""
    table = tomllib.loads(TABLE.read_text("utf-8"))
    return {
        name: Page(name, **{**its, "given": [*its.get("given", {})]}) for name, its in table.items()
    }


def said(source: str) -> str:
    """A number as a page writes it: `NAME PATH FORMAT` of a JSON, or `COMMAND ~ PATTERN`."""
    command, printed, pattern = source.partition(" ~ ")
    if printed:
        found = re.search(pattern, "\n".join(kept()[command]["printed"]))
        if found is None:
            message = f"{command} has not printed {pattern}"
            raise LookupError(message)
        return found[1]
    name, _, rest = source.partition(" ")
    path, _, form = rest.rpartition(" ")
    value = reduce(_inside, re.findall(r"\[[^\]]*\]|[^.\[\]]+", path), document(name))
    if form.startswith(LESS):
        value, form = 1 - value, form.removeprefix(LESS)
    return format(value, form).removesuffix("%").removesuffix("W")


def leaves(of: Any) -> Iterator[str]:  # noqa: ANN401 - JSON
    """All numbers of a result, as prose may write them."""
    if isinstance(of, dict | list):
        for inner in of.values() if isinstance(of, dict) else of:
            yield from leaves(inner)
    elif isinstance(of, int | float):
        yield from (format(of, form).removesuffix("%") for form in (",", ".0%", ".1%", ".2%"))


def _inside(of: Any, step: str) -> Any:  # noqa: ANN401 - JSON
    """A key, `[2]`, or the one of a list in which `[name=value,…]` are so."""
    if not step.startswith("["):
        return of[step]
    inner = step.strip("[]")
    if "=" not in inner:
        return of[int(inner)]
    wanted = dict(part.split("=") for part in inner.split(","))
    [one] = [item for item in of if all(_text(item[n]) == its for n, its in wanted.items())]
    return one


def _text(value: object) -> str:
    return "+".join(value) if isinstance(value, list) else str(value)


@cache
def document(name: str) -> Any:  # noqa: ANN401 - JSON
    """The results of a command, or what else was measured."""
    folder = RESULTS if (RESULTS / f"{name}.json").exists() else ROOT / "deploy"
    whole = json.loads((folder / f"{name}.json").read_text("utf-8"))
    return whole.get("results", whole)


@cache
def kept() -> dict[str, Any]:
    """What commands printed when they were last kept."""
    commands: dict[str, Any] = json.loads(KEPT.read_text("utf-8")) if KEPT.exists() else {}
    return commands


def printed(command: str) -> list[float]:
    """All numbers of what a command printed."""
    lines = kept()[command]["printed"]
    return [float(one.replace(",", "")) for line in lines for one in _PRINTED.findall(line)]


def figures(text: str) -> list[str]:
    """The numbers of a part of a page, without their units."""
    return [found[0].split()[0] for found in TOKEN.finditer(_joined(NOT_READ.sub("", text)))]


def _rounded(token: str, numbers: Iterable[float]) -> bool:
    """Whether one of the numbers, or a millionth of it, is written like this when it is rounded."""
    written = token.split(maxsplit=1)[0].replace(",", "")
    whole, _, fraction = written.partition(".")
    unit = 10.0 ** -len(fraction) if fraction else 10.0 ** (len(whole) - len(whole.rstrip("0")))
    return any(
        abs(number / scale - float(written)) <= unit / 2 * (1 + 1e-9)
        for number in numbers
        for scale in (1, 1e6)
    )


def _joined(text: str) -> str:
    return " ".join(text.split())
