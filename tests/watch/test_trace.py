import ssl
from pathlib import Path

import pytest

from meteragent.errors import InvalidSetting
from meteragent.watch import trace

MARKER = "meter-4711 used 1234.5 W"


def fail(error: Exception, cause: Exception | None = None) -> None:
    raise error from cause


def fail_while_handling(first: Exception, second: Exception) -> None:
    try:
        fail(first)
    except Exception:  # noqa: BLE001 - whichever it is
        raise second  # noqa: B904 - the implicit cause is the point


def raised(error: Exception, cause: Exception | None = None) -> Exception:
    with pytest.raises(type(error)) as caught:
        fail(error, cause)
    return caught.value


def test_an_exception_is_described_without_its_text() -> None:
    told = trace.described(raised(ValueError(MARKER), cause=KeyError(MARKER)))
    assert (told["error"], told["because"]) == ("ValueError", ["KeyError"])
    assert "message" not in told
    assert MARKER not in str(told)


def test_our_own_exceptions_speak_for_themselves() -> None:
    told = trace.described(InvalidSetting("interval", "does not divide", "write 10s"))
    assert told == {
        "error": "InvalidSetting",
        "message": "interval: does not divide; write 10s",
        "at": [],
    }


def test_an_exception_tells_where_it_passed_and_nothing_of_the_line() -> None:
    frames = trace.described(raised(ValueError(MARKER)))["at"]
    line = fail.__code__.co_firstlineno + 1
    assert len(frames) == 2
    assert frames[-1] == f"watch/test_trace.py:{line} fail"


def test_a_deep_recursion_is_told_by_its_innermost_frames() -> None:
    def dive(depth: int) -> None:
        if depth == 0:
            raise ValueError(MARKER)
        dive(depth - 1)

    with pytest.raises(ValueError, match=MARKER) as dived:
        dive(100)
    frames = trace.frames(dived.value.__traceback__)
    assert len(frames) == trace.DEEPEST
    assert frames[-1].startswith(f"watch/test_trace.py:{dive.__code__.co_firstlineno + 2} ")


def test_a_group_names_its_members_and_their_causes() -> None:
    inner = raised(ValueError(MARKER), cause=KeyError(MARKER))
    group = ExceptionGroup(MARKER, [ValueError(MARKER), ExceptionGroup(MARKER, [inner])])
    told = trace.described(raised(group, cause=OSError(MARKER)))
    assert told["because"] == ["ValueError", "ExceptionGroup", "ValueError", "KeyError", "OSError"]
    assert MARKER not in str(told)


def test_what_was_being_handled_counts_as_a_cause() -> None:
    with pytest.raises(ZeroDivisionError) as failed:
        fail_while_handling(KeyError(MARKER), ZeroDivisionError(MARKER))
    assert trace.described(failed.value)["because"] == ["KeyError"]


def test_a_cause_that_was_hidden_stays_hidden() -> None:
    hidden = ZeroDivisionError(MARKER)
    hidden.__suppress_context__ = True
    with pytest.raises(ZeroDivisionError) as failed:
        fail_while_handling(KeyError(MARKER), hidden)
    assert "because" not in trace.described(failed.value)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ConnectionRefusedError(111, MARKER), "ConnectionRefusedError[ECONNREFUSED]"),
        (OSError(28, MARKER), "OSError[ENOSPC]"),
        (OSError(MARKER), "OSError"),
        (ValueError(MARKER), "ValueError"),
        (ssl.SSLError(1, MARKER), "SSLError"),
    ],
)
def test_the_systems_code_is_told(error: Exception, kind: str) -> None:
    assert trace.kind(error) == kind


def test_the_reason_of_openssl_is_told(tmp_path: Path) -> None:
    (tmp_path / "ca").write_text(MARKER)
    with pytest.raises(ssl.SSLError) as refused:
        ssl.create_default_context(cafile=str(tmp_path / "ca"))
    assert trace.kind(refused.value) == "SSLError[NO_CERTIFICATE_OR_CRL_FOUND]"
