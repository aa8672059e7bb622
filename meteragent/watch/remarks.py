"""What errors of Kafka's clients mean that somebody must act on, in words of ours.

Their own words are withheld, as those of any library; most pass by themselves, these do not.
"""

from aiokafka.errors import (
    InconsistentGroupProtocolError,
    KafkaError,
    MessageSizeTooLargeError,
    OffsetOutOfRangeError,
)

REMARKS: dict[type[KafkaError], str] = {
    OffsetOutOfRangeError: (
        "kafka.input: Kafka deleted records before they were read; what is left is read, what is "
        "lost is counted; raise retention.ms"
    ),
    InconsistentGroupProtocolError: (
        "kafka.group: another program is in this group; name a group that only agents use"
    ),
    MessageSizeTooLargeError: (
        "a topic refuses records as large as one that is due; `meteragent check` says which; raise "
        "its max.message.bytes"
    ),
}


def remark(error: BaseException) -> str | None:
    """What it means, if there is more to say than its type."""
    return next((words for kind, words in REMARKS.items() if isinstance(error, kind)), None)
