"""Topics of MQTT: which of them are read, which meter one names, and where releases go.

A *pattern* says which topics are read: a level of it may be `+`, which is any, `{meter}`, which is
any and names the meter, and the last may be `#`, which is any and all below. A *template* says
where releases go: `{meter}` and `{policy}` in it are filled in.
"""

import re
from dataclasses import dataclass
from typing import Self

from meteragent.errors import InvalidSetting

METER, POLICY = "{meter}", "{policy}"
ANY, ALL = "+", "#"
LONGEST = 200
"""Characters of a pattern or template: leaves room for ids in what brokers take."""

_UNFIT = re.compile(r"[+#{}\x00-\x1f\x7f]")
_RESERVED = frozenset("%/+#")


def escaped(name: str) -> str:
    """A name as part of a level: what MQTT reserves or refuses is written as in web addresses.

    Postcondition: different names stay different, and brokers take them all.
    """
    plain = (one if one.isprintable() and one not in _RESERVED else _percent(one) for one in name)
    return "".join(plain)


def _percent(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, slots=True)
class Pattern:
    """Which topics are read."""

    levels: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """As it is written. InvalidSetting: it is none, and its field is empty."""
        levels = (*text.split("/"),)
        plain = [one for one in levels if one not in {ANY, METER}]
        if levels[-1] == ALL:
            del plain[-1]
        unfit = any(map(_UNFIT.search, plain)) or levels.count(METER) > 1
        if unfit or not text or len(text) > LONGEST:
            raise InvalidSetting(
                "", "is not a topic to read", 'write for example "tele/{meter}/SENSOR"'
            )
        return cls(levels)

    @property
    def filter(self) -> str:
        """What a broker is asked for."""
        return "/".join(ANY if level == METER else level for level in self.levels)

    @property
    def names_meter(self) -> bool:
        """Whether topics say whose readings they are."""
        return METER in self.levels

    def matches(self, topic: str) -> bool:
        """Whether a topic is one of these."""
        return self.overlaps(Pattern((*topic.split("/"),)))

    def meter(self, topic: str) -> str:
        """Whose readings come there. Precondition: it matches, and the pattern names meters."""
        return topic.split("/")[self.levels.index(METER)]

    def overlaps(self, other: "Pattern") -> bool:
        """Whether any topic is one of both; one that begins with `$` is none by chance."""
        first, second = self.levels[0], other.levels[0]
        hidden = first.startswith("$") or second.startswith("$")
        return (not hidden or first == second) and _overlap(self.levels, other.levels)


def _overlap(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    for mine, yours in zip(one, other, strict=False):
        if ALL in {mine, yours}:
            return True
        if mine != yours and not {mine, yours} & {ANY, METER}:
            return False
    longer = max(one, other, key=len)[min(len(one), len(other)) :]
    return longer in {(), (ALL,)}  # `a/#` is `a` as well


@dataclass(frozen=True, slots=True)
class Template:
    """Where something goes."""

    text: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """As it is written. InvalidSetting: it is none, and its field is empty."""
        if not text or len(text) > LONGEST or _UNFIT.search(_filled(text, "m", "p")):
            instead = 'write for example "meteragent/{policy}/{meter}"'
            raise InvalidSetting("", "is not a topic to write to", instead)
        return cls(text)

    def topic(self, meter: str, policy: str) -> str:
        """That of a meter and a policy."""
        return _filled(self.text, escaped(meter), escaped(policy))

    @property
    def pattern(self) -> Pattern:
        """All that it may become."""
        return Pattern(
            (*(ANY if _filled(one, "", "") != one else one for one in self.text.split("/")),)
        )


def _filled(text: str, meter: str, policy: str) -> str:
    parts = re.split(r"(\{meter\}|\{policy\})", text)
    return "".join({METER: meter, POLICY: policy}.get(part, part) for part in parts)
