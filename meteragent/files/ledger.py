"""The embedded ledger: what was spent, and how far every input and output has come.

One SQLite file in WAL mode; one process at a time writes it, anybody may read it meanwhile:

    account(meter, record)     the latest ledger record of each meter, as in Kafka's topic
    policy(id, document)       every policy that anything was released under
    input(name, …)             the oldest line that an open window needs, the clock before it,
                               how many lines were taken in, their head, and the totals
    output(path, length)       bytes that are released, for good
    group_account(name, record)    the latest ledger record of each group
    home(meter, record)        what each home of groups drew last
    member(meter, name, …)     since when and until when who was, or is to be, in which group
    frontier(time)             windows of groups that begin before have those in them who are
    owner(key)                 the fingerprint of the noise key that it was written with

What a job has spent, where it stands and what it has written change in one transaction. So a
job that was killed cuts its outputs back to their lengths here, and goes on.
"""

import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from meteragent.errors import FileRefused, LedgerBusy, LedgerDamaged, LedgerOfAnother
from meteragent.files.ledger_tables import MISSING, TABLES, VERSION
from meteragent.files.totals import Totals
from meteragent.privacy.members import ALWAYS, Membership
from meteragent.stream.pipeline import START, Position

T = TypeVar("T")

IN_MEMORY = ":memory:"
_APPLICATION = 0x6D747241  # "mtrA"
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


@dataclass(frozen=True, slots=True)
class Resume:
    """How far an input has come."""

    position: Position = START
    head_bytes: int = 0
    head: bytes = b""
    """A digest of its first bytes, by which it is known again."""
    output: str = ""
    totals: Totals = field(default_factory=Totals)


class SqliteLedger:
    """One file of accounts, held by this process alone until it is closed."""

    def __init__(self, path: str = IN_MEMORY) -> None:
        """Open it, or make it, for its owner alone.

        LedgerBusy: another process holds it. LedgerDamaged: it is no ledger, or not a whole
        one; it is never taken for an empty one.
        """
        self.path = path
        self._lock = -1 if path == IN_MEMORY else _locked(path)
        self._database = sqlite3.connect(path, isolation_level=None)
        try:
            with self._told():
                self._prepare()
        except BaseException:
            self.close()
            raise

    def _prepare(self) -> None:
        run = self._database.execute
        [[application]], [[tables]] = (
            run("PRAGMA application_id"),
            run("SELECT count(*) FROM sqlite_schema"),
        )
        if tables or application:
            _refuse_foreign(self._database, self.path)
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = FULL")
        if not tables:
            self._database.executescript(
                f"BEGIN; {TABLES} PRAGMA application_id = {_APPLICATION};"
                f"PRAGMA user_version = {VERSION}; COMMIT;"
            )
        else:
            [version] = run("PRAGMA user_version").fetchone()
            if version in MISSING:
                self._database.executescript(
                    f"BEGIN; {MISSING[version]} PRAGMA user_version = {VERSION}; COMMIT;"
                )

    def close(self) -> None:
        """Let go of it. The lock goes last: who closes a file loses all their locks on it."""
        self._database.close()
        if self._lock >= 0:
            os.close(self._lock)

    def refuse_another(self, key: str) -> None:
        """Refuse a ledger that was written with a noise key of another fingerprint."""
        with self._told():
            found = self._database.execute("SELECT key FROM owner").fetchone()
        if found is not None and found[0] != key:
            raise LedgerOfAnother(
                self.path,
                "noise key",
                found[0],
                key,
                "use that key; or, if it was replaced on purpose, run `meteragent key adopt "
                "--ledger`",
            )

    def adopt(self, key: str) -> None:
        """Be the ledger of this key from now on."""
        with self._told():
            self._database.execute("INSERT OR REPLACE INTO owner VALUES (1, ?)", (key,))

    def accounts(self) -> dict[str, bytes]:
        """The latest ledger record of each meter."""
        with self._told():
            return dict(self._database.execute("SELECT meter, record FROM account"))

    def groups(self) -> dict[str, bytes]:
        """The latest ledger record of each group."""
        with self._told():
            return dict(self._database.execute("SELECT name, record FROM group_account"))

    def homes(self) -> dict[str, bytes]:
        """What each home of groups drew last."""
        with self._told():
            return dict(self._database.execute("SELECT meter, record FROM home"))

    def members(self) -> list[Membership]:
        """Who was, or is to be, in which group."""
        with self._told():
            return [*map(Membership._make, self._database.execute("SELECT * FROM member"))]

    def frontier(self) -> int:
        """Before which windows of groups have begun."""
        with self._told():
            found = self._database.execute("SELECT time FROM frontier").fetchone()
            return ALWAYS if found is None else int(found[0])

    def standing(self, name: str) -> Resume:
        """How far an input has come; the start, if it is not known."""
        with self._told():
            found = self._database.execute(
                "SELECT line, clock, processed, head_bytes, head, output, totals "
                "FROM input WHERE name = ?",
                (name,),
            ).fetchone()
        if found is None:
            return Resume()
        *position, head_bytes, head, output, totals = found
        return Resume(Position(*position), head_bytes, head, output, Totals.from_json(totals))

    def length(self, path: str) -> int | None:
        """How much of an output is released; None if it is not known."""
        with self._told():
            found = self._database.execute("SELECT length FROM output WHERE path = ?", (path,))
            return next((length for [length] in found), None)

    def commit(
        self,
        *,
        lengths: Mapping[str, int],
        key: str | None = None,
        accounts: Mapping[str, bytes] | None = None,
        groups: Mapping[str, bytes] | None = None,
        homes: Mapping[str, bytes] | None = None,
        members: Iterable[Membership] | None = None,
        frontier: int = ALWAYS,
        policies: Mapping[str, str] | None = None,
        standings: Mapping[str, Resume] | None = None,
        also: Callable[[sqlite3.Connection], object] = lambda _: None,
    ) -> None:
        """Make it all true together.

        Precondition: the outputs' bytes are on the disk. Postcondition: so is this.
        """
        many = self._database.executemany
        with self._told(), self._database:
            self._database.execute("BEGIN IMMEDIATE")
            many("INSERT OR IGNORE INTO owner VALUES (1, ?)", [(key,)] if key else [])
            many("INSERT OR REPLACE INTO account VALUES (?, ?)", (accounts or {}).items())
            many("INSERT OR REPLACE INTO group_account VALUES (?, ?)", (groups or {}).items())
            many("INSERT OR REPLACE INTO home VALUES (?, ?)", (homes or {}).items())
            if members is not None:
                self._database.execute("DELETE FROM member")
                many("INSERT INTO member VALUES (?, ?, ?, ?, ?, ?)", members)
            times = [] if frontier == ALWAYS else [(frontier,)]
            many("INSERT OR REPLACE INTO frontier VALUES (1, ?)", times)
            many("INSERT OR IGNORE INTO policy VALUES (?, ?)", (policies or {}).items())
            many("INSERT OR REPLACE INTO output VALUES (?, ?)", lengths.items())
            many(
                "INSERT OR REPLACE INTO input VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    (
                        name,
                        its.head_bytes,
                        its.head,
                        its.position.offset,
                        its.position.clock,
                        its.position.processed,
                        its.output,
                        its.totals.to_json(),
                    )
                    for name, its in (standings or {}).items()
                ),
            )
            also(self._database)

    def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do what is of another's tables in here, in a transaction of its own."""
        with self._told(), self._database:
            self._database.execute("BEGIN IMMEDIATE")
            return work(self._database)

    def _told(self) -> "_Told":
        return _Told(self.path)


@dataclass(frozen=True, slots=True)
class LedgerFile:
    """What a ledger says to somebody who only looks."""

    accounts: dict[str, bytes]
    """Of meters ..."""
    groups: dict[str, bytes]
    """... and of groups."""
    policies: dict[str, str]
    """Id -> document."""
    members: list[Membership]
    """Who was, or is to be, in which group."""


def look(path: Path) -> LedgerFile:
    """Read a ledger, also while a job writes it. It is neither made nor changed."""
    if not path.is_file():
        raise FileRefused(str(path), "is not a file", "name the --ledger of a `sanitize`")
    database = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    with _Told(str(path)), closing(database):
        run = database.execute
        run("BEGIN")  # one moment for all tables
        _refuse_foreign(database, str(path))
        has_groups = run("PRAGMA user_version").fetchone() == (VERSION,)
        return LedgerFile(
            dict(run("SELECT meter, record FROM account")),
            dict(run("SELECT name, record FROM group_account")) if has_groups else {},
            dict(run("SELECT id, document FROM policy")),
            [*map(Membership._make, run("SELECT * FROM member"))] if has_groups else [],
        )


def _refuse_foreign(database: sqlite3.Connection, path: str) -> None:
    pragmas = ("application_id", "user_version")
    found = tuple(database.execute(f"PRAGMA {name}").fetchone()[0] for name in pragmas)
    if found not in {(_APPLICATION, version) for version in (*MISSING, VERSION)}:
        raise LedgerDamaged(f"{path}: is not a ledger of a version that is known here")


@dataclass(frozen=True, slots=True)
class _Told:
    """Says what SQLite refuses in our words."""

    path: str

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if not isinstance(error, sqlite3.Error):
            return
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in _BUSY:
            raise LedgerBusy(self.path) from None
        if code in _DAMAGED:
            raise LedgerDamaged(f"{self.path}: is not a ledger, or is damaged") from None
        name = getattr(error, "sqlite_errorname", "SQLITE_ERROR")
        raise FileRefused(
            self.path, f"cannot be read or written ({name})", "make room or name another"
        ) from None


def _locked(path: str) -> int:
    """An open file that nobody else holds, made if it is not there."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise LedgerBusy(path) from None
    return descriptor
