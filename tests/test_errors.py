from __future__ import annotations

import inspect
import re

import pytest

from meteragent import errors
from meteragent.errors import ConfigRefused, InvalidSetting, KeyRefused, MeterAgentError, NotExact

EVERY = [
    error
    for error in vars(errors).values()
    if inspect.isclass(error) and issubclass(error, MeterAgentError)
]
EVIDENCE = {
    str: "what was seen",
    int: 4711,
    list[str]: ["one problem", "another problem"],
    list[InvalidSetting]: [InvalidSetting("step", "is odd", "write 10")],
}


def of(error: type[MeterAgentError]) -> tuple[MeterAgentError, dict[str, object]]:
    """One such error, and the evidence that it was given, by name."""
    if error.__init__ is Exception.__init__:
        return error("was said"), {}
    parameters = inspect.signature(error).parameters.values()
    evidence = {p.name: EVIDENCE[p.annotation] for p in parameters}
    return error(**evidence), evidence


@pytest.mark.parametrize("error", EVERY, ids=lambda error: error.__name__)
def test_an_error_carries_its_evidence_and_says_it(error: type[MeterAgentError]) -> None:
    raised, evidence = of(error)
    assert str(raised)
    for name, value in evidence.items():
        assert getattr(raised, name) == value
        for part in value if isinstance(value, list) else [value]:
            assert str(part) in str(raised)


def test_the_hierarchy_is_drawn_as_it_is() -> None:
    drawn = re.findall(r"[─ ] (\w+)  +.*?(\(retriable\))?$", str(errors.__doc__), re.MULTILINE)
    assert [name for name, _ in drawn] == [error.__name__ for error in EVERY]
    assert [bool(retriable) for _, retriable in drawn] == [error.retriable for error in EVERY]


def test_a_float_is_an_invalid_setting_and_of_the_wrong_type() -> None:
    assert {InvalidSetting, ValueError, TypeError} < set(NotExact.__mro__)
    refused = NotExact("step", "float is not an exact decimal", "write a string")
    assert str(refused) == "step: float is not an exact decimal; write a string"


def test_a_configuration_is_refused_with_all_its_problems() -> None:
    both = [
        InvalidSetting("step", "is odd", "write 10"),
        NotExact("maximum", "is a float", "quote"),
    ]
    assert str(ConfigRefused(both)) == "step: is odd; write 10\nmaximum: is a float; quote"


def test_a_key_is_refused_by_its_source() -> None:
    refused = KeyRefused("/run/key", "is readable by others", "chmod 600")
    assert str(refused) == "noise key /run/key: is readable by others; chmod 600"
