"""Releases that are older than their topic keeps any are counted, to the millisecond."""

from meteragent.kafka.outbox import Outbox, Record

NOW, DAY = 20 * 86_400_000, 86_400_000


def of(*ends: int) -> list[Record]:
    return [Record(b"m", b"{}", end) for end in ends]


def test_what_kafka_deletes_at_once_is_counted_by_topic() -> None:
    outbox = Outbox({"daily": of(NOW - 2 * DAY - 1, NOW - 2 * DAY, NOW), "monthly": of(0, NOW)})
    assert outbox.outlived({"daily": 2 * DAY}, NOW) == 1
    assert outbox.outlived({"daily": 2 * DAY - 1, "monthly": 20 * DAY}, NOW) == 2
    assert outbox.outlived({"monthly": 20 * DAY - 1}, NOW) == 1


def test_a_topic_that_keeps_for_ever_deletes_nothing() -> None:
    assert Outbox({"daily": of(0, 1)}).outlived({}, NOW) == 0
