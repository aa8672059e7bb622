"""What can go wrong, and whose fault it is.

    MeterAgentError            retriable: would the same call work later?
    ├── InvalidSetting         a value that makes no sense: field, problem, instead
    │   └── NotExact           a float where money-like arithmetic is due
    ├── ConfigRefused          a configuration, with all its problems at once
    ├── KeyRefused             the noise key is missing, malformed or readable by others
    ├── LedgerDamaged          a ledger record that cannot be read; never taken as zero spend
    ├── BrokerUnreachable      Kafka does not answer                           (retriable)
    ├── BrokerRefused          Kafka answers, and lets us not in
    ├── TopicsUnfit            topics are missing, or not as they must be
    └── ForeignCommit          the group's offsets were committed by something else

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
    """No connection to Kafka; it may come back."""

    retriable: ClassVar[bool] = True

    def __init__(self, server: str, problem: str) -> None:
        super().__init__(f"kafka.bootstrap_servers: {server} does not answer ({problem})")
        self.server = server
        self.problem = problem


class BrokerRefused(MeterAgentError):
    """Kafka answered, and refused: more tries with the same settings would be a storm."""

    def __init__(self, server: str, problem: str, instead: str) -> None:
        super().__init__(f"kafka.security: {server}: {problem}; {instead}")
        self.server = server
        self.problem = problem
        self.instead = instead


class TopicsUnfit(MeterAgentError):
    """Topics are missing, or not as exactly-once releases need them."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class ForeignCommit(MeterAgentError):
    """The committed offset is not one of ours, so nobody knows what it means for windows."""

    def __init__(self, group: str, partition: int) -> None:
        super().__init__(
            f"kafka.group: {group} has an offset in partition {partition} that this agent did "
            "not commit; write another group"
        )
        self.group = group
        self.partition = partition
