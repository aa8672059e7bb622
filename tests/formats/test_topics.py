"""Topics: a pattern reads what it says, a template never leaves its levels, ids stay apart."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meteragent.errors import InvalidSetting
from meteragent.formats.topics import Pattern, Template, escaped

LEVELS = ("a", "b", "+", "{meter}")
TOPICS = ["/".join(levels) for n in (1, 2, 3) for levels in product(("a", "b", ""), repeat=n)]
PATTERNS = [
    "/".join(levels)
    for n in (1, 2, 3)
    for levels in product(LEVELS, repeat=n)
    if levels.count("{meter}") <= 1
]
PATTERNS += ["#", *(f"{one}/#" for one in PATTERNS[:12])]


def reads(pattern: str, topic: str) -> bool:
    """What the standard says, slowly: level by level, and `#` is the parent as well."""
    wanted, there = pattern.split("/"), topic.split("/")
    if wanted[-1] == "#":
        wanted.pop()
        if len(there) < len(wanted):
            return False
        there = there[: len(wanted)]
    return len(wanted) == len(there) and all(
        one in {"+", "{meter}", other} for one, other in zip(wanted, there, strict=True)
    )


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_reads_what_the_standard_says(pattern: str) -> None:
    parsed = Pattern.parse(pattern)
    for topic in TOPICS:
        if topic:
            assert parsed.matches(topic) == reads(pattern, topic), topic
            if parsed.matches(topic) and parsed.names_meter:
                assert parsed.meter(topic) == topic.split("/")[pattern.split("/").index("{meter}")]


def test_patterns_overlap_where_a_topic_is_of_both() -> None:
    for one, other in product(PATTERNS, repeat=2):
        common = any(reads(one, topic) and reads(other, topic) for topic in TOPICS)
        assert Pattern.parse(one).overlaps(Pattern.parse(other)) >= common, (one, other)
    assert not Pattern.parse("a/+").overlaps(Pattern.parse("a/+/+"))
    assert not Pattern.parse("a/+/b").overlaps(Pattern.parse("b/#"))


def test_what_the_broker_says_of_itself_is_no_reading() -> None:
    assert not Pattern.parse("#").matches("$SYS/broker/uptime")
    assert not Pattern.parse("+/broker").matches("$SYS/broker")
    assert Pattern.parse("$SYS/+").matches("$SYS/broker")


def test_a_broker_is_asked_by_filters() -> None:
    assert Pattern.parse("tele/{meter}/SENSOR").filter == "tele/+/SENSOR"
    assert Pattern.parse("a/#").filter == "a/#"


@pytest.mark.parametrize(
    "text",
    ["", "a/#/b", "a#", "+a", "{meter}/{meter}", "a/{policy}", "x{meter}", "a\0", "a" * 201, "{}"],
)
def test_what_is_no_pattern_is_refused(text: str) -> None:
    with pytest.raises(InvalidSetting, match="is not a topic to read"):
        Pattern.parse(text)


@pytest.mark.parametrize("text", ["", "a/+", "#", "{home}", "a" * 201, "a\n", "{meter"])
def test_what_is_no_template_is_refused(text: str) -> None:
    with pytest.raises(InvalidSetting, match="is not a topic to write to"):
        Template.parse(text)


@given(st.text(st.characters(), min_size=1), st.text(st.characters(), min_size=1))
def test_ids_stay_within_their_level_and_apart(one: str, other: str) -> None:
    template = Template.parse("out/{policy}/x-{meter}")
    topic = template.topic(one, "homes")
    assert len(topic.split("/")) == 3
    assert template.pattern.matches(topic)
    assert topic.isprintable()
    assert not set(topic) & {"+", "#"}
    assert (escaped(one) == escaped(other)) == (one == other)


def test_ids_that_are_plain_are_themselves() -> None:
    template = Template.parse("meteragent/{policy}/{meter}")
    assert template.topic("Haus 7-ä", "homes") == "meteragent/homes/Haus 7-ä"
    assert template.topic("a/b+#%\0", "{meter}") == "meteragent/{meter}/a%2Fb%2B%23%25%00"
    assert template.pattern.filter == "meteragent/+/+"
