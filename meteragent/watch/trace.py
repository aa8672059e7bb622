"""Exceptions without what they quote.

An exception of a library may carry a payload in its text, and a traceback shows lines and
values. What leaves the process names types and places; the words are only our own, which
never quote (see `errors`).
"""

import errno
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from meteragent.errors import MeterAgentError

DEEPEST = 20
"""How many frames are told, the innermost ones."""


def described(error: BaseException) -> dict[str, Any]:
    """What may be said of an exception, as fields of a log line."""
    because = [kind(other) for other in _behind(error)]
    return {
        "error": kind(error),
        **({"message": str(error)} if isinstance(error, MeterAgentError) else {}),
        **({"because": because} if because else {}),
        "at": frames(error.__traceback__),
    }


def kind(error: BaseException) -> str:
    """Its type, with the code that the operating system or OpenSSL gave."""
    name = type(error).__name__
    if not isinstance(error, OSError):
        return name
    code = errno.errorcode.get(error.errno or 0)
    if type(error).__module__ == "ssl":  # whose numbers are not the system's
        code = getattr(error, "reason", None)
    return f"{name}[{code}]" if code else name


def frames(traceback: TracebackType | None) -> list[str]:
    """Where it passed, the innermost last: `meteragent/privacy/ledger.py:81 Ledger.charge`."""
    passed = []
    while traceback:
        code = traceback.tb_frame.f_code
        file = "/".join(code.co_filename.split("/")[-2:])
        passed.append(f"{file}:{traceback.tb_lineno} {code.co_qualname}")
        traceback = traceback.tb_next
    return passed[-DEEPEST:]


def _behind(error: BaseException) -> Iterator[BaseException]:
    """What caused it: members of a group first, then the cause, all the way down."""
    members = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    context = None if error.__suppress_context__ else error.__context__
    for other in (*members, error.__cause__ or context):
        if other:
            yield other
            yield from _behind(other)
