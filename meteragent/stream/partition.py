"""The life of a partition: a table of states and events that answers with commands.

Nothing here waits, reads or writes. The shell (`kafka/`) carries out the commands and
reports what came of them as events; the tests run that shell itself in seeded schedules, against
a model of Kafka. What keeps releases exactly once is all in the order of the commands:

* FENCE comes before RESTORE: once the producer of our transactional id has started, no former
  owner can commit any more, and what it had committed is complete. Only then is the ledger
  read, then the committed position, and only then do records come.
* SEND puts releases, ledger records, rejects and the position into one transaction; COMMIT
  comes when every one of them has been delivered.
* Whatever fails, FORGET: memory and producer are thrown away, and the partition is built anew
  from what Kafka holds. There is no repair.
* A partition that is taken away commits what it has, if there is still time (DRAINING), and
  is gone. Whoever gets it next need not trust us: it fences us first.
"""

from enum import Enum


class State(Enum):
    """Where a partition stands."""

    ASSIGNED = "assigned"
    FENCING = "fencing"
    RESTORING = "restoring"
    RUNNING = "running"
    COMMITTING = "committing"
    FAILED = "failed"
    DRAINING = "draining"
    LOST = "lost"


class Event(Enum):
    """What has happened to it."""

    BEGIN = "begin"
    FENCED = "fenced"
    RESTORED = "restored"
    RECORDS = "records"
    DUE = "due"
    DELIVERED = "delivered"
    COMMITTED = "committed"
    ERROR = "error"
    RETRY = "retry"
    REVOKED = "revoked"
    TIMEOUT = "timeout"


class Command(Enum):
    """What is to be done about it."""

    FENCE = "fence"
    RESTORE = "restore"
    SEEK = "seek"
    FEED = "feed"
    SEND = "send"
    COMMIT = "commit"
    PAUSE = "pause"
    FORGET = "forget"
    WAIT = "wait"
    LEAVE = "leave"


Reaction = tuple[State, tuple[Command, ...]]

_S, _E, _C = State, Event, Command

TABLE: dict[tuple[State, Event], Reaction] = {
    (_S.ASSIGNED, _E.BEGIN): (_S.FENCING, (_C.FENCE,)),
    (_S.FENCING, _E.FENCED): (_S.RESTORING, (_C.RESTORE,)),
    (_S.RESTORING, _E.RESTORED): (_S.RUNNING, (_C.SEEK,)),
    (_S.RUNNING, _E.RECORDS): (_S.RUNNING, (_C.FEED,)),
    (_S.RUNNING, _E.DUE): (_S.COMMITTING, (_C.SEND,)),
    # While a transaction is under way records go on being read, for the next one.
    (_S.COMMITTING, _E.RECORDS): (_S.COMMITTING, (_C.FEED,)),
    (_S.COMMITTING, _E.DUE): (_S.COMMITTING, ()),
    (_S.COMMITTING, _E.DELIVERED): (_S.COMMITTING, (_C.COMMIT,)),
    (_S.COMMITTING, _E.COMMITTED): (_S.RUNNING, ()),
    (_S.FAILED, _E.RETRY): (_S.FENCING, (_C.FENCE,)),
    # Taken away: commit what there is, or finish the commit that is under way.
    (_S.RUNNING, _E.REVOKED): (_S.DRAINING, (_C.PAUSE, _C.SEND)),
    (_S.COMMITTING, _E.REVOKED): (_S.DRAINING, (_C.PAUSE,)),
    (_S.DRAINING, _E.DELIVERED): (_S.DRAINING, (_C.COMMIT,)),
    (_S.DRAINING, _E.COMMITTED): (_S.LOST, (_C.FORGET, _C.LEAVE)),
    (_S.DRAINING, _E.ERROR): (_S.LOST, (_C.FORGET, _C.LEAVE)),
    (_S.DRAINING, _E.TIMEOUT): (_S.LOST, (_C.FORGET, _C.LEAVE)),
    **{
        (state, _E.REVOKED): (_S.LOST, (_C.FORGET, _C.LEAVE))
        for state in (_S.ASSIGNED, _S.FENCING, _S.RESTORING, _S.FAILED)
    },
    **{
        (state, _E.ERROR): (_S.FAILED, (_C.PAUSE, _C.FORGET, _C.WAIT))
        for state in (_S.FENCING, _S.RESTORING, _S.RUNNING, _S.COMMITTING)
    },
}
"""What is not in here changes nothing: records that come too late, a commit that is not due."""


class Life:
    """One assignment of one partition, from ASSIGNED to LOST."""

    def __init__(self, table: dict[tuple[State, Event], Reaction] = TABLE) -> None:
        self.state = State.ASSIGNED
        self._table = table

    def on(self, event: Event) -> tuple[Command, ...]:
        """Take an event; answer what is to be done now, in this order."""
        self.state, commands = self._table.get((self.state, event), (self.state, ()))
        return commands


def diagram() -> str:
    """The table as a Mermaid state diagram, for the documentation."""
    lines = ["stateDiagram-v2", f"    [*] --> {State.ASSIGNED.value}"]
    for (state, event), (after, commands) in TABLE.items():
        orders = f" / {', '.join(c.value for c in commands)}" if commands else ""
        lines.append(f"    {state.value} --> {after.value}: {event.value}{orders}")
    return "\n".join([*lines, f"    {State.LOST.value} --> [*]", ""])
