"""How a command ends: one line per problem, and a code that scripts can tell apart."""

import sys
from collections.abc import Callable
from enum import IntEnum
from errno import EACCES, EDQUOT, EFBIG, ENOSPC
from typing import Self

from meteragent.errors import (
    AccountsAstray,
    BatchRefused,
    BrokerRefused,
    ConfigRefused,
    FileRefused,
    ForeignCommit,
    InputDamaged,
    InvalidSetting,
    KeyRefused,
    LedgerDamaged,
    LedgerLost,
    LedgerOfAnother,
    MeterAgentError,
    RegistryRefused,
    Superseded,
    TopicReplaced,
    TopicsUnfit,
)
from meteragent.gateway.errors import JournalDamaged, JournalLost
from meteragent.watch import trace


class Exit(IntEnum):
    """The exit codes, each with its meaning."""

    meaning: str

    OK = 0, "done"
    BUG = 1, "something unexpected: please report it"
    USAGE = 2, "the command line makes no sense"
    CONFIGURATION = 3, "a setting is refused"
    KEY = 4, "the noise key is missing, malformed or open to others"
    UNAVAILABLE = 5, "brokers cannot be reached, or something else that may work later"
    DENIED = 6, "brokers or the schema registry refuse the login or a right"
    DATA = 7, "input or ledger cannot be read"
    FILE = 8, "a file cannot be read or written"
    TOPICS = 9, "topics are missing, or have the wrong settings"
    LOST = 10, "the ledger is not what was written: what meters have spent is unknown"
    OWNER = 11, "the ledger belongs to another group, input or noise key"
    SUPERSEDED = 12, "instances with a newer configuration are running"
    NOTHING = 13, "not one line of the input was good"
    INTERRUPTED = 130, "stopped by Ctrl-C"
    PIPE = 141, "whoever read the output has gone"

    def __new__(cls, code: int, meaning: str) -> Self:
        """An exit code with its meaning."""
        member = int.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member


CURABLE = frozenset({Exit.OK, Exit.BUG, Exit.UNAVAILABLE})
"""To start an agent again may help after these: somebody else told it to end, it stumbled over a
mistake of ours, or found no brokers."""

CODES: tuple[tuple[type[BaseException], Exit], ...] = (
    (ConfigRefused, Exit.CONFIGURATION),
    (InvalidSetting, Exit.CONFIGURATION),
    (KeyRefused, Exit.KEY),
    (LedgerDamaged, Exit.DATA),
    (BrokerRefused, Exit.DENIED),
    (RegistryRefused, Exit.DENIED),
    (TopicsUnfit, Exit.TOPICS),
    (AccountsAstray, Exit.TOPICS),
    (LedgerLost, Exit.LOST),
    (LedgerOfAnother, Exit.OWNER),
    (Superseded, Exit.SUPERSEDED),
    (ForeignCommit, Exit.TOPICS),
    (TopicReplaced, Exit.TOPICS),
    (BatchRefused, Exit.DATA),
    (InputDamaged, Exit.DATA),
    (JournalDamaged, Exit.DATA),
    (JournalLost, Exit.LOST),
    (FileRefused, Exit.FILE),
    (BrokenPipeError, Exit.PIPE),
    (OSError, Exit.FILE),
    (KeyboardInterrupt, Exit.INTERRUPTED),
)
"""The first that matches; of others, what is retriable is `UNAVAILABLE`."""


def code_of(error: BaseException) -> Exit:
    """The code that a command ends with when this stopped it."""
    code = next((code for kind, code in CODES if isinstance(error, kind)), Exit.BUG)
    retriable = isinstance(error, MeterAgentError) and error.retriable
    return Exit.UNAVAILABLE if retriable else code


def _to_people(line: str) -> None:
    sys.stderr.write(f"meteragent: {line}\n")


def report(error: BaseException, say: Callable[[str], object] = _to_people) -> Exit:
    """Say what went wrong, line by line, without a traceback; answer with the code."""
    code = code_of(error)
    if code not in {Exit.INTERRUPTED, Exit.PIPE}:
        for line in _words(error).splitlines():
            say(line)
    return code


def table() -> str:
    """The exit codes, for people."""
    return "\n".join(f"  {code.value:>3}  {code.meaning}" for code in Exit)


_REMEDIES = {
    ENOSPC: "make room or name another",
    EDQUOT: "make room or name another",
    EFBIG: "make room or name another",
    EACCES: "change its rights or name another",
}


def _words(error: BaseException) -> str:
    if isinstance(error, MeterAgentError):
        return str(error)
    if isinstance(error, OSError):
        instead = _REMEDIES.get(error.errno or 0, "name another")
        return f"{error.filename or 'standard output'}: {error.strerror}; {instead}"
    places = " < ".join(reversed(trace.frames(error.__traceback__)[-3:]))
    return f"unexpected {trace.kind(error)} in {places}; this is a bug, please report this line"
