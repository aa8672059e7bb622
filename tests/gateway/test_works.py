"""What a gateway makes of messages: whose they are, what is late, lost, sent, and refused."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING

import pytest

from meteragent.errors import FileRefused, LedgerOfAnother
from meteragent.files.ledger import SqliteLedger
from meteragent.gateway.decode import Decoding
from meteragent.gateway.errors import JournalLost
from meteragent.gateway.frames import JournalRecord, RecordKind
from meteragent.gateway.journal import Journal
from meteragent.gateway.works import Works
from meteragent.privacy.entropy import NoiseKey
from meteragent.stream.readings import Readings, Reason
from meteragent.watch.events import BatchTaken, PartitionRestored
from tests.gateway.fragile import FragileDisk
from tests.gateway.given import BEGIN, CONFIGURATION, config
from tests.given import KEY, MINUTE, SECOND

if TYPE_CHECKING:
    from pathlib import Path

    from meteragent.watch.events import Occurrence

TOPIC = "tele/home-1/SENSOR"


class Home:
    """Works over a disk and a ledger that outlive them."""

    def __init__(self, directory: Path, text: str = CONFIGURATION) -> None:
        self.config = config(directory, text)
        self.disk, self.path = FragileDisk(), str(directory / "gateway.db")
        self.events: list[Occurrence] = []
        self.ledger: SqliteLedger | None = None

    def works(self, *, accept_loss: bool = False, key: NoiseKey = KEY) -> Works:
        if self.ledger:
            self.ledger.close()  # whoever was at work before is not any more
        self.ledger = SqliteLedger(self.path)
        limit = self.config.mqtt.journal_limit * 1_000_000
        journal = Journal(self.disk, "journal", limit=limit)
        works = Works(self.config, key, journal, self.ledger, self.events.append)
        for _ in works.restore(accept_loss=accept_loss):
            pass
        return works


def said(time: int, power: float = 400.0, **more: object) -> bytes:
    return json.dumps({"ts": time, "power": power, **more}).encode()


def take(works: Works, time: int, topic: str = TOPIC, **more: object) -> None:
    records = [works.record(topic, said(time, **more), time)]  # type: ignore[arg-type]
    works.feed(works.write(records), records)


def sent(works: Works) -> dict[str, list[int]]:
    """Topic -> when the windows began that wait there."""
    works.commit()
    found: dict[str, list[int]] = {}
    for one in works.outbox.first(1000):
        found.setdefault(one.topic, []).append(json.loads(one.message)["window_start"])
    return found


# Whose readings are, and in what shape.


def decoded(text: str, directory: Path, *records: JournalRecord) -> list[Readings | JournalRecord]:
    return [*Decoding(config(directory, text).mapping).readings(0, records)]


def named(meter: str, message: bytes) -> JournalRecord:
    return JournalRecord(RecordKind.NAMED, BEGIN, meter, message)


def test_a_topic_names_the_meter_whatever_the_message_says(tmp_path: Path) -> None:
    [found] = decoded(CONFIGURATION, tmp_path, named("home-1", said(BEGIN, device="home-9")))
    assert isinstance(found, Readings)
    assert [*found.meters] == ["home-1"]


def test_channels_are_meters_of_their_own(tmp_path: Path) -> None:
    text = CONFIGURATION.replace('value = "power"', 'channels = { a = "power", b = "other" }')
    [found] = decoded(text, tmp_path, named("home-1", said(BEGIN, other=5)))
    assert isinstance(found, Readings)
    assert [*found.meters] == ["home-1:a", "home-1:b"]


@pytest.mark.parametrize("meter", ["", "x" * 129, "a\x01"])
def test_a_topic_that_names_no_meter_is_rejected_by_its_number(meter: str, tmp_path: Path) -> None:
    good, bad = named("home-1", said(BEGIN)), named(meter, said(BEGIN))
    broken = named("home-1", b"{")
    [found] = decoded(CONFIGURATION, tmp_path, good, bad, broken, good)
    assert isinstance(found, Readings)
    assert found.offsets.tolist() == [0, 3]
    assert found.rejects == [(1, Reason.BAD_METER), (2, Reason.NOT_JSON)]
    assert found.next_offset == 4


def test_kinds_of_records_keep_their_order(tmp_path: Path) -> None:
    tick = JournalRecord(RecordKind.TICK, BEGIN)
    plain = JournalRecord(RecordKind.MESSAGE, BEGIN, "", said(BEGIN, device="home-2"))
    found = decoded(CONFIGURATION, tmp_path, named("a", said(BEGIN)), plain, tick, plain)
    assert [one if isinstance(one, JournalRecord) else [*one.meters] for one in found] == [
        ["a"],
        ["home-2"],
        tick,
        ["home-2"],
    ]


# What time does.


def test_a_window_that_time_has_closed_stays_closed_when_it_is_read_again(tmp_path: Path) -> None:
    """Nothing was committed since; only the journal knows that time had passed."""
    home = Home(tmp_path)
    works = home.works()
    take(works, BEGIN + 6 * MINUTE)
    works.commit()
    works.pass_time(BEGIN + 60 * MINUTE)
    take(works, BEGIN, "tele/home-3/SENSOR")  # its window is long over
    take(works, BEGIN + 61 * MINUTE, "tele/home-3/SENSOR")
    works.pass_time(BEGIN + 90 * MINUTE)
    undisturbed = sent(works)
    del works
    other = Home(tmp_path)
    other.path = str(tmp_path / "other.db")
    works = other.works()
    take(works, BEGIN + 6 * MINUTE)
    works.commit()
    works.pass_time(BEGIN + 60 * MINUTE)
    take(works, BEGIN, "tele/home-3/SENSOR")
    take(works, BEGIN + 61 * MINUTE, "tele/home-3/SENSOR")
    works = other.works()
    works.pass_time(BEGIN + 90 * MINUTE)
    assert sent(works) == undisturbed
    assert undisturbed["meteragent/homes/home-3"] == [BEGIN + 60 * MINUTE]


def test_readings_that_come_twice_count_once(tmp_path: Path) -> None:
    home = Home(tmp_path)
    works = home.works()
    for _ in range(3):
        take(works, BEGIN)
    counted = [event for event in home.events if isinstance(event, BatchTaken)]
    assert [(event.accepted, event.duplicate) for event in counted] == [(1, 0), (0, 1), (0, 1)]


# What is kept, and what is refused.


def test_a_ledger_is_synced_at_every_commit(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.works()
    ledger = home.ledger
    assert ledger
    assert ledger.run(lambda database: database.execute("PRAGMA synchronous").fetchone()) == (2,)
    assert ledger.run(lambda database: database.execute("PRAGMA journal_mode").fetchone()) == (
        "wal",
    )


def test_a_lost_ledger_is_never_taken_for_an_empty_one(tmp_path: Path) -> None:
    home = Home(tmp_path)
    take(home.works(), BEGIN)
    home.path = str(tmp_path / "new.db")
    for accept_loss in (False, True):
        with pytest.raises(FileRefused, match="what meters have spent is unknown"):
            home.works(accept_loss=accept_loss)


def test_a_lost_journal_is_said_and_may_be_accepted(tmp_path: Path) -> None:
    home = Home(tmp_path)
    works = home.works()
    for minute in range(7):
        take(works, BEGIN + minute * MINUTE)
    works.commit()
    home.disk = FragileDisk()
    with pytest.raises(JournalLost, match="is missing"):
        home.works()
    works = home.works(accept_loss=True)
    restored = [event for event in home.events if isinstance(event, PartitionRestored)]
    assert [event.lost > 0 for event in restored] == [False, True]
    take(works, BEGIN + 10 * MINUTE)
    works = home.works()
    take(works, BEGIN + 30 * MINUTE)
    assert BEGIN + 10 * MINUTE in sent(works)["meteragent/homes/home-1"]


def test_another_key_is_refused(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.works()
    with pytest.raises(LedgerOfAnother):
        home.works(key=NoiseKey(bytes(32)))


def test_a_full_journal_leaves_readings_to_the_broker(tmp_path: Path) -> None:
    home = Home(tmp_path, CONFIGURATION.replace("[mqtt]", "[mqtt]\njournal_limit = 1"))
    works = home.works()
    padding = "x" * 10_000
    for number in range(98):
        take(works, BEGIN + number, padding=padding)
    records = [works.record(TOPIC, said(BEGIN, padding=padding), BEGIN)] * 3
    with pytest.raises(FileRefused, match=r"is full.*raise mqtt.journal_limit"):
        works.write(records)
    assert works.journal.size <= 1_000_000
    again = home.works()
    assert again.journal.next == works.journal.next


def test_the_journal_shrinks_with_its_windows(tmp_path: Path) -> None:
    home = Home(tmp_path, CONFIGURATION.replace("[mqtt]", "[mqtt]\njournal_limit = 1"))
    works = home.works()
    padding = "x" * 5_000
    for number in range(1000):
        take(works, BEGIN + number * 10 * SECOND, padding=padding)
        if works.is_due:
            works.commit()
    assert works.journal.size < 1_000_000


# What is sent.


def test_home_assistant_is_told_of_a_meter_before_its_first_release(tmp_path: Path) -> None:
    text = CONFIGURATION.replace("[mqtt]", '[mqtt]\ndiscovery = "homeassistant"')
    works = Home(tmp_path, text).works()
    for minute in (0, 10, 20):
        take(works, BEGIN + minute * MINUTE)
    works.commit()
    found = works.outbox.first(100)
    told = [json.loads(one.message) for one in found if one.topic.startswith("homeassistant/")]
    assert [one.topic.startswith("homeassistant/") for one in found] == [True, True, False, False]
    assert {one["state_topic"] for one in told} == {found[-1].topic}
    assert len({one["unique_id"] for one in told}) == 2
    assert all(one["unit_of_measurement"] == "W" for one in told)
    assert "'values'" in told[0]["value_template"]


def test_the_outbox_keeps_its_order_and_counts(tmp_path: Path) -> None:
    home = Home(tmp_path)
    works = home.works()
    for minute in range(0, 40, 5):
        take(works, BEGIN + minute * MINUTE)
    works.commit()
    first = works.outbox.first(2)
    works.outbox.sent(first[:1])
    assert works.outbox.first(2)[0] == first[1]
    waiting = works.outbox.waiting
    assert home.works().outbox.waiting == waiting
    with sqlite3.connect(home.path) as database:
        [count] = database.execute("SELECT count(*) FROM outbox").fetchone()
    assert count == waiting > 2
