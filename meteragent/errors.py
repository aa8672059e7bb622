"""What can go wrong, and whose fault it is.

    MeterAgentError            retriable: would the same call work later?
    ├── InvalidSetting         a value that makes no sense: field, problem, instead
    │   └── NotExact           a float where money-like arithmetic is due
    ├── ConfigRefused          a configuration, with all its problems at once
    ├── KeyRefused             the noise key is missing, malformed or readable by others
    ├── LedgerDamaged          a ledger record that cannot be read; never taken as zero spend
    ├── BrokerUnreachable      a broker does not answer                        (retriable)
    ├── BrokerRefused          a broker answers, and lets us not in
    ├── RegistryUnreachable    the schema registry does not answer             (retriable)
    ├── RegistryRefused        the schema registry answers, and gives us nothing
    ├── TopicsUnfit            topics are missing, or not as they must be
    ├── NotDrained             windows are open, or agents run, where none may  (retriable)
    ├── ForeignCommit          the group's offsets were committed by something else
    ├── TopicReplaced          the group's offsets are not of this input topic
    ├── LedgerLost             the ledger is not the one that positions were committed with
    ├── LedgerOfAnother        the ledger is of another group, input or noise key
    ├── LedgerMoving           accounts are being moved to other partitions     (retriable)
    ├── AccountsAstray         accounts do not lie where their meters are at home
    ├── Superseded             a newer configuration is at work in the group
    ├── TooEarly               what was lost may still count                    (retriable)
    ├── PartitionsChanged      the input has other partitions than it had      (retriable)
    ├── BatchRefused           a batch of the input that cannot be unpacked
    ├── InputDamaged           an input file that cannot be read any further
    ├── InputReplaced          a file that was followed is another one now      (retriable)
    ├── FileRefused            a file whose content would be lost
    └── LedgerBusy             another process writes this ledger               (retriable)

`gateway.errors` has those of a gateway's journal.

Messages name settings and coordinates, never a reading, a level or a payload.
"""

from typing import ClassVar


class MeterAgentError(Exception):
    """Root of every error that this package raises on purpose."""

    retriable: ClassVar[bool] = False


class InvalidSetting(MeterAgentError, ValueError):
    """A setting was refused; `instead` says what to write."""

    def __init__(self, field: str, problem: str, instead: str) -> None:
        super().__init__(f"{field}: {problem}; {instead}")
        self.field = field
        self.problem = problem
        self.instead = instead


class NotExact(InvalidSetting, TypeError):
    """A float reached exact arithmetic, where its hidden binary digits would be billed."""


class ConfigRefused(MeterAgentError):
    """A configuration that cannot be used, with everything that is wrong with it."""

    def __init__(self, problems: list[InvalidSetting]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


class KeyRefused(MeterAgentError):
    """The noise key cannot be used: missing, malformed, or readable by others."""

    def __init__(self, source: str, problem: str, instead: str) -> None:
        super().__init__(f"noise key {source}: {problem}; {instead}")
        self.source = source
        self.problem = problem
        self.instead = instead


class LedgerDamaged(MeterAgentError):
    """A ledger record that cannot be read: its spend is unknown, so nothing may follow it."""


class BrokerUnreachable(MeterAgentError):
    """No connection to Kafka, or to another broker; it may come back."""

    retriable: ClassVar[bool] = True

    def __init__(self, server: str, problem: str, setting: str = "kafka.bootstrap_servers") -> None:
        super().__init__(f"{setting}: {server} does not answer ({problem})")
        self.server = server
        self.problem = problem
        self.setting = setting


class BrokerRefused(MeterAgentError):
    """It answered, and refused: more tries with the same settings would be a storm."""

    def __init__(
        self, server: str, problem: str, instead: str, setting: str = "kafka.security"
    ) -> None:
        super().__init__(f"{setting}: {server}: {problem}; {instead}")
        self.server = server
        self.problem = problem
        self.instead = instead
        self.setting = setting


class RegistryUnreachable(MeterAgentError):
    """No answer of the schema registry; it may come back."""

    retriable: ClassVar[bool] = True

    def __init__(self, url: str, problem: str) -> None:
        super().__init__(f"kafka.registry.url: {url} does not answer ({problem})")
        self.url = url
        self.problem = problem


class RegistryRefused(MeterAgentError):
    """The schema registry answered, and not with what was asked of it."""

    def __init__(self, url: str, problem: str, instead: str) -> None:
        super().__init__(f"kafka.registry: {url}: {problem}; {instead}")
        self.url = url
        self.problem = problem
        self.instead = instead


class TopicsUnfit(MeterAgentError):
    """Topics are missing, or not as exactly-once releases need them."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class NotDrained(MeterAgentError):
    """Accounts cannot move while windows are open or agents run; that will pass."""

    retriable: ClassVar[bool] = True


class ForeignCommit(MeterAgentError):
    """The committed offset is not one of ours, so nobody knows what it means for windows."""

    def __init__(self, group: str, partition: int) -> None:
        super().__init__(
            f"kafka.group: {group} has an offset in partition {partition} that this agent did "
            "not commit; take another group and ledger, or delete the group"
        )
        self.group = group
        self.partition = partition


class TopicReplaced(MeterAgentError):
    """The committed offset lies beyond the end: the topic was deleted and made anew."""

    def __init__(self, topic: str, partition: int, group: str) -> None:
        super().__init__(
            f"kafka.input: {topic} ends before the offset that was committed in partition "
            f"{partition}: it is not the topic that was read before; delete the group {group}"
        )
        self.topic = topic
        self.partition = partition
        self.group = group


class LedgerLost(MeterAgentError):
    """The ledger does not hold what had been written to it: what was spent is unknown."""

    def __init__(self, ledger: str, how: str) -> None:
        super().__init__(
            f"kafka.ledger: {ledger} {how}: what its meters have spent is unknown; "
            "`meteragent ledger accept-loss` says when that no longer matters"
        )
        self.ledger = ledger
        self.how = how


class LedgerOfAnother(MeterAgentError):
    """A ledger that somebody else writes, or that was written with another noise key."""

    def __init__(self, ledger: str, what: str, there: str, here: str, instead: str) -> None:
        super().__init__(
            f"{ledger}: is someone else's ledger: its {what} is {there}, and {here} here; {instead}"
        )
        self.ledger = ledger
        self.what = what
        self.there = there
        self.here = here
        self.instead = instead


class LedgerMoving(MeterAgentError):
    """Half of the accounts may lie where nobody would look for them."""

    retriable: ClassVar[bool] = True

    def __init__(self, ledger: str) -> None:
        super().__init__(
            f"kafka.ledger: the accounts of {ledger} are being moved; wait for "
            "`meteragent ledger migrate`, or run it again if it was interrupted"
        )
        self.ledger = ledger


class AccountsAstray(MeterAgentError):
    """Accounts in partitions where their meters' readings do not come."""

    def __init__(
        self, ledger: str, partition: int, count: int, partitioner: str, instead: str
    ) -> None:
        super().__init__(
            f"kafka.partitioner: {count} accounts in partition {partition} of {ledger} are not "
            f"where {partitioner} puts their meters; {instead}"
        )
        self.ledger = ledger
        self.partition = partition
        self.count = count
        self.partitioner = partitioner
        self.instead = instead


class Superseded(MeterAgentError):
    """Instances with another configuration are at work, and theirs is the newer one."""

    def __init__(self, group: str) -> None:
        super().__init__(
            f"kafka.group: instances of {group} are running with a newer configuration; "
            "give this one the same, or write another kafka.revision to go back to this one"
        )
        self.group = group


class TooEarly(MeterAgentError):
    """Spending that is not known any more may lie in one horizon with what would come now."""

    retriable: ClassVar[bool] = True

    def __init__(self, until: str) -> None:
        super().__init__(
            f"what was lost may share a horizon with what is released before {until}; run again "
            "then, or add --yes: until then meters may spend up to a second budget"
        )
        self.until = until


class PartitionsChanged(MeterAgentError):
    """Accounts may not lie where they are looked for: the topics must be judged anew."""

    retriable: ClassVar[bool] = True

    def __init__(self, topic: str, before: int, now: int) -> None:
        super().__init__(f"kafka.input: {topic} had {before} partitions and has {now} now")
        self.topic = topic
        self.before = before
        self.now = now


class BatchRefused(MeterAgentError):
    """A batch of the input that cannot be unpacked: it is damaged, or holds more than it may."""

    def __init__(self, offset: int, problem: str) -> None:
        super().__init__(
            f"kafka.input: a compressed batch at or after offset {offset} {problem}; delete "
            "the records up to it, and look at its sender"
        )
        self.offset = offset
        self.problem = problem


class InputDamaged(MeterAgentError):
    """An input file that cannot be read any further; the message never quotes it."""

    def __init__(self, source: str, line: int, problem: str, instead: str) -> None:
        super().__init__(f"{source}: line {line}: {problem}; {instead}")
        self.source = source
        self.line = line
        self.problem = problem
        self.instead = instead


class InputReplaced(MeterAgentError):
    """The file that was followed is another one now, or was cut; the next run reads it anew."""

    retriable: ClassVar[bool] = True

    def __init__(self, source: str) -> None:
        super().__init__(f"{source}: was replaced or cut while it was followed; run again")
        self.source = source


class FileRefused(MeterAgentError):
    """A file whose content would be lost, or that is not what it is taken for."""

    def __init__(self, path: str, problem: str, instead: str) -> None:
        super().__init__(f"{path}: {problem}; {instead}")
        self.path = path
        self.problem = problem
        self.instead = instead


class LedgerBusy(MeterAgentError):
    """Another process writes this ledger."""

    retriable: ClassVar[bool] = True

    def __init__(self, path: str) -> None:
        super().__init__(f"{path}: another process uses this ledger; wait for it, or name another")
        self.path = path
